# SPDX-License-Identifier: MIT
"""Makes the binary example documents, byte for byte the same each time: python examples/make_documents.py [FOLDER].

The others in that folder are written by hand. Needs reportlab, python-docx, python-pptx, openpyxl and pillow.
"""

import io
import re
import sys
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

import docx
import openpyxl
import pptx
import reportlab
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate

HERE = Path(__file__).parent / "documents"
MADE = datetime(2026, 1, 20, 12, tzinfo=UTC)

MANUAL = [
    ("Title", "Operating the great refractor"),
    (
        "BodyText",
        ("This manual is for volunteers with a blue armband. Read it once in daylight, with the telescope in front of you."),
    ),
    ("Heading2", "Opening up"),
    (
        "BodyText",
        (
            "Open the dome slit and the lens cap at least forty minutes before the first visitor looks through, so "
            "that the lens cools down to the air outside. A warm lens makes stars boil. Take the cap off with both "
            "hands; it weighs as much as a cat and is as fond of falling."
        ),
    ),
    ("Heading2", "Polar alignment"),
    (
        "BodyText",
        (
            "The mount is bolted to its pillar and needs no alignment on ordinary nights. After an earthquake, or "
            "after Roger has leaned on it, point at Polaris, loosen the two brass screws at the foot, and bring the "
            "star into the small circle of the finder."
        ),
    ),
    ("Heading2", "Focusing"),
    (
        "BodyText",
        (
            "Turn the large knurled wheel until the star is smallest, then a hair back. The scale reads 31 for the "
            "wide eyepiece and 34 for the one of ten millimetres. Whoever wears glasses for reading only takes them "
            "off."
        ),
    ),
    ("Heading2", "Never"),
    (
        "BodyText",
        (
            "Never point the refractor at the Sun: it has no filter, and its finder has blinded a camera already. "
            "Never wipe the lens, not even with a clean cloth; dust does no harm, scratches do."
        ),
    ),
    ("Heading2", "Parking"),
    (
        "BodyText",
        (
            "Park the tube pointing at the north-east with the counterweight down, clamp both axes, and pull the plug "
            "of the drive, because its motor hums in the night and frightens the owls."
        ),
    ),
]

RESOLUTIONS = [
    ("Copper sheet", "18,400", "60 years", "7"),
    ("Zinc sheet", "12,900", "35 years", "2"),
    ("Paint once more", "2,100", "4 years", "0"),
]
SLIDES = [
    (
        "The Perseids: a talk for all ages",
        ["Corvid Hill Observatory, summer programme", "Speaker: Amara Osei"],
        "Wait until the latecomers have found a deck chair.",
    ),
    (
        "What a shooting star is",
        [
            "A grain of comet dust, no larger than a coffee bean",
            "It enters the air at fifty-nine kilometres a second",
            "We see the glowing air, not the grain",
        ],
        "",
    ),
    (
        "Where the dust comes from",
        ["Comet Swift-Tuttle, which returns every 133 years", "The Earth crosses its trail each August"],
        "Pass round the jar of sand here.",
    ),
    (
        "When to look",
        [
            "The maximum is in the night from 12 to 13 August",
            "After midnight our side of the Earth faces forward",
            "Expect about sixty meteors an hour, if the Moon is away",
        ],
        "",
    ),
    (
        "How to look",
        ["Lie down, use no telescope, look half-way up", "Bring a blanket, tea and patience"],
        "End with the wish list that visitors wrote last year.",
    ),
]
SUNSPOTS = [
    (date(2025, 9, 1), "M. Ferreira", 4, 37, "good"),
    (date(2025, 9, 4), "M. Ferreira", 6, 58, "fair, thin cloud"),
    (date(2025, 9, 9), "T. Wilk", 7, 81, "excellent"),
    (date(2025, 9, 15), "A. Osei", 5, 44, "good"),
    (date(2025, 9, 22), "M. Ferreira", 2, 11, "poor, gusts"),
    (date(2025, 9, 28), "T. Wilk", 3, 19, "good"),
]


LETTER = (
    "Percy Thorne, clockmaker",
    "4 May 1936",
    "",
    "Dear Miss Marlowe,",
    "",
    "The pendulum clock from Zurich came on Tuesday",
    "in a crate full of straw. It loses two seconds in a",
    "week. I have hung it on the north wall of the",
    "cellar, where no lorry shakes it.",
    "",
    "The bill of nineteen pounds and six shillings was",
    "paid by the brewer Henry Aldous, who asks for",
    "nothing in return but one long look at Saturn.",
    "",
    "Please wind the clock on Sundays, with eleven",
    "turns and not one more.",
    "",
    "Yours truly,",
    "Percy Thorne",
)


def manual(path: Path) -> None:
    """A PDF of two pages."""
    styles = getSampleStyleSheet()
    story = [Paragraph(text, styles[style]) for style, text in MANUAL]
    info = {"title": "Operating the great refractor", "author": "Tomasz Wilk", "lang": "en-GB"}
    SimpleDocTemplate(str(path), pagesize=A5, invariant=1, **info).build(story)


def letter(path: Path) -> None:
    """A PDF of one scanned page: a picture, laid on the glass a little askew, and no text."""
    paper, ink = 236, 45
    page = Image.new("L", (874, 1240), paper)
    draw = ImageDraw.Draw(page)
    font = ImageFont.truetype(str(Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"), 26)
    for number, line in enumerate(LETTER):
        draw.text((90, 110 + 44 * number), line, fill=ink, font=font)
    page = page.rotate(0.3, Image.Resampling.BICUBIC, fillcolor=paper).filter(ImageFilter.GaussianBlur(0.7))
    content = io.BytesIO()
    page.save(content, "jpeg", quality=70)
    scan = Canvas(str(path), pagesize=A5, invariant=1)
    scan.setTitle("Letter about the pendulum clock")
    scan.drawImage(ImageReader(content), 0, 0, *A5)
    scan.save()


def minutes(path: Path) -> None:
    """A Word file with a table."""
    document = docx.Document()
    facts = document.core_properties
    facts.title, facts.author, facts.language = "Minutes of the committee, November 2025", "Joan Pettigrew", "en-GB"
    facts.created = facts.modified = MADE
    document.add_heading("Minutes of the committee, 14 November 2025", 1)
    document.add_paragraph(
        "Present: Joan Pettigrew (chair), Tomasz Wilk, Amara Osei, Miguel Ferreira and five others. Apologies: Roger Dunmore."
    )
    document.add_heading("Repair of the dome roof", 2)
    document.add_paragraph(
        "The roof of the main dome leaks in three places. "
        "The committee had three offers before it and voted on how to cover the dome:"
    )
    table = document.add_table(rows=1, cols=4, style="Table Grid")
    for cell, text in zip(table.rows[0].cells, ("Covering of the dome", "Cost in pounds", "Lasts", "Votes"), strict=True):
        cell.text = text
    for row in RESOLUTIONS:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_paragraph(
        "Resolved: the dome is to be covered with copper sheet by the roofers Hallam & Daughter in May 2026. Half of the sum "
        "comes from the legacy of the late Mrs Quill, half from a sponsored walk."
    )
    document.add_heading("Any other business", 2)
    document.add_paragraph(
        "The biscuit tin is to be labelled. Miguel Ferreira was thanked for mending the kettle, and elected treasurer until 2028."
    )
    document.save(str(path))


def talk(path: Path) -> None:
    """A presentation of five slides with notes."""
    show = pptx.Presentation()
    facts = show.core_properties
    facts.title, facts.author, facts.language = "The Perseids", "Amara Osei", "en-GB"
    facts.created = facts.modified = MADE
    for title, lines, note in SLIDES:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(lines)
        if note:
            slide.notes_slide.notes_text_frame.text = note
    show.save(str(path))


def sunspots(path: Path) -> None:
    """A workbook with a table."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sunspot counts"
    sheet.append(["Date", "Observer", "Sunspot groups", "Single sunspots", "Seeing"])
    for row in SUNSPOTS:
        sheet.append(row)
    book.properties.title, book.properties.creator = "Sunspot log, September 2025", "Miguel Ferreira"
    book.properties.created = MADE.replace(tzinfo=None)
    book.save(path)


def settle(path: Path) -> None:
    """Take the time of making out of an Office file: from its ZIP entries, and from what openpyxl notes when it saves."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                when = MADE.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
                data = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + when, data)
            entry = zipfile.ZipInfo(name, MADE.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, data)
    path.write_bytes(content.getvalue())


def main(folder: Path) -> None:
    """Write all five into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    manual(folder / "refractor-manual.pdf")
    letter(folder / "clock-letter.pdf")
    for name, make in {"committee-minutes.docx": minutes, "perseids-talk.pptx": talk, "sunspot-log.xlsx": sunspots}.items():
        make(folder / name)
        settle(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
