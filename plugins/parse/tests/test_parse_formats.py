# SPDX-License-Identifier: MIT
"""Every format: known sentences exactly once and in order, tables apart, facts where the file says them."""

import datetime as dt
import json
from email.message import EmailMessage

import docx
import fpdf
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate
from reportlab.platypus import Table as PlatypusTable

from rocketride_parse.errors import Damaged
from rocketride_parse.parts import Table, Text, markdown

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


@pytest.mark.parametrize("kind", ["pdf", "docx", "pptx", "xlsx"])
def test_office_sentences_once_in_order(kind, make, read, sentences, tmp_path):
    got = read(make[kind](tmp_path / f"a.{kind}"))
    got.assert_once_in_order(sentences)
    assert got.facts["format"] == kind


@pytest.mark.parametrize(
    ("kind", "template", "line"),
    [
        ("txt", "{}", "{}\n"),
        ("md", "# Head\n\n{}", "{}\n\n"),
        ("html", "<!doctype html><title>t</title><body>{}</body>", "<p>{}</p>"),
        ("csv", "number,sentence\n{}", "1,{}\n"),
        ("xml", "<?xml version='1.0'?><log>{}</log>", "<entry>{}</entry>"),
        ("eml", "From: a@example.org\nSubject: s\nDate: Mon, 2 Mar 2026 10:00:00 +0100\n\n{}", "{}\n\n"),
    ],
)
def test_text_sentences_once_in_order(kind, template, line, read, sentences, tmp_path):
    path = tmp_path / f"a.{kind}"
    path.write_text(template.format("".join(line.format(sentence) for sentence in sentences)))
    got = read(path)
    got.assert_once_in_order(sentences)
    assert got.facts["format"] == kind


def test_json_sentences_once_in_order(read, sentences, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"title": "Log", "entries": [{"text": sentence, "n": 1} for sentence in sentences]}))
    got = read(path)
    got.assert_once_in_order(sentences)
    assert got.facts["title"] == "Log"
    assert "entries:\n  - text: Sentence number 0" in got.texts[0]


def test_json_lines(read, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "first"}\n{"a": "second", "b": [1, null, true]}\n')
    assert read(path).texts == ["a: first\n\na: second\nb:\n  - 1\n  - true"]


def test_fpdf_pdf_wrapped_paragraphs(read, sentences, tmp_path):
    pdf = fpdf.FPDF()
    pdf.set_title("Wheels")
    pdf.set_author("Ada")
    pdf.set_lang("en-GB")
    pdf.set_font("Helvetica", size=11)
    for start in (0, 12):
        pdf.add_page()
        for number in range(start, start + 12, 4):
            pdf.multi_cell(0, 5, " ".join(sentences[number : number + 4]))
            pdf.ln(6)
    path = tmp_path / "a.pdf"
    pdf.output(str(path))
    got = read(path)
    got.assert_once_in_order(sentences)
    assert len(got.texts) == 2
    assert [text.count("\n\n") for text in got.texts] == [2, 2], "three paragraphs a page, whatever their line breaks"
    assert {key: got.facts[key] for key in ("title", "author", "language", "pages")} == {
        "title": "Wheels", "author": "Ada", "language": "en-GB", "pages": 2,
    }  # fmt: skip


def test_pdf_hyphens_at_line_ends_and_columns(read, tmp_path):
    path = tmp_path / "a.pdf"
    page = canvas.Canvas(str(path))
    for number, line in enumerate(["Half of inter-", "national time; CH-", "01, Anne-", "Marie and the x-", "ray remain."]):
        page.drawString(50, 700 - 14 * number, line)
    for column, left in enumerate((50, 300)):
        for number in range(4):
            page.drawString(left, 400 - 14 * number, f"column {column} line {number}")
    page.save()
    got = read(path)
    got.assert_once_in_order(
        ["Half of international time; CH-01, Anne-Marie and the x-ray remain."]
        + [f"column {column} line {number}" for column in (0, 1) for number in range(4)]
    )


ROWS = [["Item", "Count", "Note"], ["Wheel", "12", "made of oak"], ["Axle | rod", "7", ""], ["Spoke", "144", "see below"]]


def reportlab_table(path):
    styles = getSampleStyleSheet()
    table = PlatypusTable(
        ROWS, style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("BACKGROUND", (0, 0), (-1, 0), colors.lightgrey)]
    )
    after = Paragraph("After the table, and no more.", styles["Normal"])
    SimpleDocTemplate(str(path)).build([Paragraph("Before the table.", styles["Normal"]), table, after])


def fpdf_table(path):
    pdf = fpdf.FPDF()
    pdf.set_font("Helvetica", size=11)
    pdf.add_page()
    pdf.multi_cell(0, 6, "Before the table.")
    pdf.ln(8)
    with pdf.table() as table:
        for row in ROWS:
            table.row(row)
    pdf.ln(4)
    pdf.multi_cell(0, 6, "After the table, and no more.")
    pdf.output(str(path))


@pytest.mark.parametrize("make", [reportlab_table, fpdf_table])
def test_ruled_table_in_a_pdf(make, read, tmp_path):
    make(tmp_path / "a.pdf")
    got = read(tmp_path / "a.pdf")
    assert got.tables == [ROWS]
    assert got.texts == ["Before the table.", "After the table, and no more."]


def test_frames_and_charts_in_a_pdf_are_no_tables(read, sentences, tmp_path):
    page = canvas.Canvas(str(tmp_path / "a.pdf"))
    page.rect(40, 650, 400, 100)
    page.line(40, 600, 440, 600)
    for number in range(4):
        page.drawString(50, 730 - 15 * number, sentences[number])
        page.line(50 + 40 * number, 300, 50 + 40 * number, 400)
        page.line(30, 300 + 30 * number, 200, 300 + 30 * number)
    page.drawString(20, 345, "A line of text that runs from the margin through the chart.")
    page.save()
    got = read(tmp_path / "a.pdf")
    assert got.tables == []
    got.assert_once_in_order([*sentences[:4], "A line of text that runs from the margin through the chart."])


def test_scanned_pdf_has_facts_only(read, tmp_path):
    pdf = fpdf.FPDF()
    pdf.add_page()
    pdf.rect(10, 10, 50, 50)
    path = tmp_path / "scan.pdf"
    pdf.output(str(path))
    got = read(path)
    assert got.texts == []
    assert got.facts["pages"] == 1


def test_docx_order_headings_tables_and_margins(read, tmp_path):
    document = docx.Document()
    document.core_properties.title, document.core_properties.author = "Rules", "Board"
    document.sections[0].header.paragraphs[0].text = "Letterhead"
    document.sections[0].footer.paragraphs[0].text = "Footer line"
    document.add_heading("Rules of the shop", 1)
    document.add_paragraph("Before the table.")
    table = document.add_table(2, 3)
    for row in range(2):
        for column in range(3):
            table.cell(row, column).text = f"cell {row}{column}"
    document.add_paragraph("After the table.")
    document.add_paragraph("An item", style="List Bullet")
    path = tmp_path / "a.docx"
    document.save(str(path))
    got = read(path)
    assert [type(part) for part in got.parts[:3]] == [Text, Table, Text]
    assert got.texts[0] == "Letterhead\n\n# Rules of the shop\n\nBefore the table."
    assert got.tables == [[["cell 00", "cell 01", "cell 02"], ["cell 10", "cell 11", "cell 12"]]]
    assert got.texts[1] == "After the table.\n\n- An item\n\nFooter line"
    assert (got.facts["title"], got.facts["author"]) == ("Rules", "Board")


def test_docx_tracked_changes_text_boxes_and_merged_cells(read, tmp_path):
    document = docx.Document()
    changed = document.add_paragraph("Kept. ")
    changed._p.append(parse_xml(f"<w:del {WORD}><w:r><w:delText>Deleted.</w:delText></w:r></w:del>"))
    changed._p.append(parse_xml(f"<w:moveFrom {WORD}><w:r><w:t>Moved away.</w:t></w:r></w:moveFrom>"))
    changed._p.append(parse_xml(f"<w:ins {WORD}><w:r><w:t>Inserted.</w:t></w:r></w:ins>"))
    box = "<w:txbxContent><w:p><w:r><w:t>In the box.</w:t></w:r></w:p></w:txbxContent>"
    document.add_paragraph("Beside the box.")._p.append(
        parse_xml(
            f'<w:r {WORD} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:AlternateContent>'
            f'<mc:Choice Requires="wps">{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>'
        )
    )
    document.element.body.insert(
        -1, parse_xml(f"<w:sdt {WORD}><w:sdtContent><w:p><w:r><w:t>In a control.</w:t></w:r></w:p></w:sdtContent></w:sdt>")
    )
    table = document.add_table(3, 2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Merged head"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "Tall"
    table.cell(1, 1).text, table.cell(2, 1).text = "one", "two"
    path = tmp_path / "a.docx"
    document.save(str(path))
    got = read(path)
    got.assert_once_in_order(["Kept. Inserted.", "Beside the box.", "In the box.", "In a control.", "Merged head"])
    assert "Deleted" not in got.all
    assert "Moved away" not in got.all
    assert got.tables == [[["Merged head", ""], ["Tall", "one"], ["", "two"]]]


def test_pptx_order_of_the_show_titles_notes_tables(read, tmp_path):
    show = pptx.Presentation()
    for number in range(12):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.placeholders[1].text = f"Body of {number}\nsecond line"
        slide.shapes.title.text = f"Title {number}"
        slide.notes_slide.notes_text_frame.text = f"Note {number}"
    table = show.slides[5].shapes.add_table(2, 2, 0, 0, 100000, 100000).table
    for row in range(2):
        for column in range(2):
            table.cell(row, column).text = f"c{row}{column}"
    order = show.slides._sldIdLst
    order.append(order[0])
    path = tmp_path / "a.pptx"
    show.save(str(path))
    got = read(path)
    numbers = [*range(1, 12), 0]
    got.assert_once_in_order(
        [piece for n in numbers for piece in (f"## Title {n} ", f"Body of {n} second line", f"Note {n} ")][:-1]
    )
    assert got.tables == [[["c00", "c01"], ["c10", "c11"]]]
    assert got.facts["pages"] == 12


def test_xlsx_value_far_below_a_gap(read, tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"], book.active["C40000"] = "near", "far"
    book.save(tmp_path / "a.xlsx")
    got = read(tmp_path / "a.xlsx")
    assert ("near" in got.all, "far" in got.all) == (True, True)


def test_jsonl_says_which_line_is_wrong_and_keeps_odd_line_ends(read, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "one\u2028two"}\n{"a": "three"}\n', "utf-8")
    assert read(path).facts["format"] == "json"
    assert "three" in read(path).all
    path.write_text('{"a": 1}\n\n{"a": 2}\n{"a" 3}\n', "utf-8")
    with pytest.raises(Damaged, match="line 4, column 6"):
        read(path)


def test_colours_of_terminals_are_left_out(read, tmp_path):
    path = tmp_path / "a.log"
    path.write_text("\x1b[1;31mERROR\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 [0m stays\n" * 5)
    assert read(path).all.startswith("ERROR link [0m stays ERROR link")


def test_xlsx_sheets_types_and_gaps(read, tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Prices"
    sheet.append(["Item", "Price", None, "Since", "Open"])
    sheet.append(["Bell", 12.5, None, dt.date(2026, 3, 1), True])
    sheet.append([])
    sheet.append(["Pump", 7.0, None, dt.datetime(2026, 3, 1, 12, 30), False])  # noqa: DTZ001 - a workbook has no time zones
    book.create_sheet("Empty")
    book.create_sheet("Notes").append(["Only one cell"])
    path = tmp_path / "a.xlsx"
    book.save(path)
    got = read(path)
    assert got.tables == [
        [
            ["Item", "Price", "Since", "Open"],
            ["Bell", "12.5", "2026-03-01", "TRUE"],
            ["Pump", "7", "2026-03-01 12:30:00", "FALSE"],
        ]
    ]
    assert got.texts == ["## Prices", "## Notes", "Only one cell"]
    assert got.facts["sheets"] == ["Prices", "Notes"]


def test_html_what_a_reader_sees(read, tmp_path):
    path = tmp_path / "a.html"
    path.write_text(
        "<html lang=de><head><title>The page</title><meta name=author content=Zoe><style>p{}</style></head><body>"
        "<script>var no;</script><h1>Hi <b>you</b></h1><p>One<br>two   <i>th</i>ree</p><p hidden>ghost</p><ul><li>a<li>b</ul>"
        "<table><tr><th colspan=2>wide<th>y<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5</table><div>tail"
        "<table><tr><td><p>layout</p><table><tr><td>in<td>ner<tr><td>x<td>y</table></table></div><pre>a  b\n c</pre></body>"
    )
    got = read(path)
    assert got.texts == ["# Hi you\n\nOne\ntwo three\n\n- a\n\n- b", "tail\n\nlayout", "a  b\n c"]
    assert got.tables == [[["wide", "", "y"], ["1", "2", "3"], ["", "4", "5"]], [["in", "ner"], ["x", "y"]]]
    assert {key: got.facts[key] for key in ("title", "author", "language")} == {
        "title": "The page",
        "author": "Zoe",
        "language": "de",
    }


def test_markdown_tables_front_matter_and_code(read, tmp_path):
    path = tmp_path / "a.md"
    path.write_text(
        '---\ntitle: "Shop book"\nauthor: Kim\n---\n# Head\n\ntext\n\n| a | b |\n|---|:-:|\n| 1 | x \\| y |\n\nafter\n\n'
        "```\n| no | table |\n|---|---|\n```\n\n---\nend | of text\n"
    )
    got = read(path)
    assert got.tables == [[["a", "b"], ["1", "x | y"]]]
    assert got.texts == ["# Head\n\ntext", "after\n\n```\n| no | table |\n|---|---|\n```\n\n---\nend | of text"]
    assert (got.facts["title"], got.facts["author"]) == ("Shop book", "Kim")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_delimiters_and_quotes(delimiter, read, tmp_path):
    path = tmp_path / "a.csv"
    lines = [["name", "note", "price"], ["Bell", '"a\nb"', "1"], ["Pump", '"say ""hi"""', "2"]]
    path.write_text("\n".join(delimiter.join(line) for line in lines))
    assert read(path).tables == [[["name", "note", "price"], ["Bell", "a b", "1"], ["Pump", 'say "hi"', "2"]]]


def test_xml_records_attributes_and_mixed_text(read, tmp_path):
    path = tmp_path / "a.xml"
    path.write_text('<stock><!-- c --><part id="BB-12"><name>Bracket</name><p>See <b>page</b> 3.</p></part><gone/></stock>')
    assert read(path).texts == ["stock:\n  part (id BB-12):\n    name: Bracket\n    p: See page 3."]


def test_xml_fetches_nothing(read, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    path = tmp_path / "a.xml"
    path.write_text(f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}"><!ENTITY y "why">]><a>&y;: &x;</a>')
    with pytest.raises(Damaged, match="Entity 'x' not defined"):
        read(path)


def mail(**headers: str) -> EmailMessage:
    message = EmailMessage()
    for key, value in {"Subject": "Grüße", "From": "Ann <a@example.org>", "To": "b@example.org", **headers}.items():
        message[key] = value
    return message


def test_mail_body_once_attachments_named(read, tmp_path):
    message = mail(Date="Mon, 02 Mar 2026 10:00:00 +0100")
    message.set_content("The body ä.")
    message.add_alternative("<p>The body ä.</p>", subtype="html")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="x.pdf")
    path = tmp_path / "a.eml"
    path.write_bytes(bytes(message))
    got = read(path)
    got.assert_once_in_order(["Subject: Grüße", "From: Ann <a@example.org>", "To: b@example.org", "The body ä."])
    assert got.facts["attachments"] == ["x.pdf"]
    assert got.facts["title"] == "Grüße"
    assert got.facts["created"] == "2026-03-02T10:00:00+01:00"


def test_mail_with_html_only_and_empty_plain(read, tmp_path):
    message = mail()
    message.set_content("\n")
    message.add_alternative("<p>Only here.</p><table><tr><td>a<td>b<tr><td>1<td>2</table>", subtype="html")
    path = tmp_path / "a.eml"
    path.write_bytes(bytes(message))
    got = read(path)
    assert got.all.count("Only here.") == 1
    assert got.tables == [[["a", "b"], ["1", "2"]]]


def test_mail_in_an_old_charset_without_declaration(read, tmp_path):
    path = tmp_path / "a.eml"
    path.write_bytes("From: a@example.org\nSubject: Ölwechsel\nDate: x\n\nDie Kette ist schön geölt.\n".encode("cp1252"))
    got = read(path)
    got.assert_once_in_order(["Ölwechsel", "schön geölt"])


def test_markdown_rendering_escapes():
    assert markdown(Table([["a|b", "c"], ["", "d\\e"]])) == "| a\\|b | c |\n| --- | --- |\n|  | d\\\\e |"
