# SPDX-License-Identifier: MIT
"""Encodings found out, line breaks and Unicode forms made one."""

import unicodedata

import pytest

from rocketride_parse.encoding import NotText, canonical, decode
from rocketride_parse.parts import clean, tidy

SAMPLES = {
    "utf-8": ["naïve 今天 😀", "plain ASCII only"],
    "utf-8-sig": ["naïve 今天 😀"],
    "utf-16": ["Words in wide characters.", "今天天气很好"],
    "utf-16-le": ["Words in wide characters.", "Über Köln, 3 km"],
    "utf-16-be": ["Words in wide characters."],
    "utf-32": ["Words in very wide characters. 😀"],
    "cp1252": [
        "Über die Brücke führt ein schöner Weg.",
        "Le café à côté de l’hôtel est fermé – désolé.",
        "naïve résumé",
        "Das Öl kostet 5 €.",
    ],
    "gb18030": ["今天天气很好，我们去公园散步。", "自行车维修价格表"],
    "gbk": ["望远镜每天晚上打开，请大家准时到场。"],
    "shift_jis": ["これは日本語のテストです。", "自転車の修理は二千円です。ブレーキを交換しました。"],
    "euc_jp": ["これは日本語のテストです。自転車の修理は二千円です。"],
    "big5": ["這是一個測試文件，用來檢查編碼檢測是否正確。"],
    "cp949": ["안녕하세요, 이것은 한국어 시험입니다. 자전거를 고칩니다."],
    "cp1251": ["Это тест кодировки. Велосипед ремонтируют по средам.", "Привет, мир"],
    "koi8-r": ["Это тест кодировки. Велосипед ремонтируют по средам."],
    "cp1250": ["Zażółć gęślą jaźń. Rower naprawiamy w środę."],
    "iso8859-2": ["Zażółć gęślą jaźń. Rower naprawiamy w środę."],
    "cp1253": ["Καλημέρα, αυτό είναι μια δοκιμή κωδικοποίησης."],
    "cp1254": ["Bugün hava çok güzel, bisiklet tamiri yapılıyor, kışın değil."],
}


@pytest.mark.parametrize(("encoding", "text"), [(encoding, text) for encoding, texts in SAMPLES.items() for text in texts])
def test_detected(encoding, text):
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(("encoding", "text"), [(encoding, text) for encoding, texts in SAMPLES.items() for text in texts])
def test_file_on_disk_whatever_its_name(encoding, text, read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(f"{text}\r\n{text}!\r\n".encode(encoding))
    got = read(path)
    assert got.texts == [f"{text}\n{text}!"]


def test_declared_beats_detection_but_not_the_bytes():
    assert decode("Ж".encode("koi8-r"), ["koi8-r"]) == ("Ж", "koi8-r")
    assert decode("Ж今".encode(), ["ascii", "utf-8"])[0] == "Ж今"
    assert decode("é".encode(), ["no-such-charset"]) == ("é", "utf-8")
    assert canonical(' "ISO-8859-1" ') == "cp1252"
    assert canonical("no-such-charset") == canonical("base64") == ""


def test_utf8_with_a_cut_off_end_stays_utf8():
    text = "自行车维修价格表，今天天气很好"
    assert decode(text.encode()[:-1]) == (text[:-1] + "\ufffd", "utf-8")


@pytest.mark.parametrize("data", [bytes(range(256)) * 4, b"\0\0\0\1" * 50, b"ab\0cd\0\0ef\1\2", bytes(range(1, 9)) * 20])
def test_binary_is_not_text(data):
    with pytest.raises(NotText):
        decode(data)


def test_charset_of_html_xml_and_mime_type(read, tmp_path):
    page = tmp_path / "a.html"
    page.write_bytes('<html><head><meta charset="koi8-r"></head><body>Ж</body></html>'.encode("koi8-r"))
    assert read(page).texts == ["Ж"]
    record = tmp_path / "a.xml"
    record.write_bytes('<?xml version="1.0" encoding="windows-1251"?><a>Ж</a>'.encode("cp1251"))
    assert read(record).texts == ["a: Ж"]
    text = tmp_path / "b.txt"
    text.write_bytes("Ж".encode("cp1251"))
    assert read(text, mime_type='text/plain; charset="windows-1251"').texts == ["Ж"]


@pytest.mark.parametrize("suffix", ["txt", "md", "csv", "html", "json", "xml"])
def test_text_is_nfc(suffix, read, tmp_path):
    apart = unicodedata.normalize("NFD", "Größe ééé")
    body = {"csv": f"a,b\n{apart},1\n", "json": f'{{"a": "{apart}"}}', "xml": f"<a>{apart}</a>", "html": f"<p>{apart}</p>"}
    path = tmp_path / f"a.{suffix}"
    path.write_text(body.get(suffix, apart))
    got = read(path)
    assert "Größe ééé" in got.all
    assert unicodedata.is_normalized("NFC", got.all)


def test_office_text_is_nfc(make, read, tmp_path):
    apart = unicodedata.normalize("NFD", "Größe")
    for kind in ("docx", "pptx", "xlsx"):
        assert "Größe" in read(make[kind](tmp_path / f"a.{kind}", [apart])).all


def test_clean_and_tidy():
    assert clean("a\r\nb\rc\u2028d\x00\ufeff\x07e\ud800") == "a\nb\nc\nde?"
    assert tidy("\n\n  a  \n\n\n\nb\t\n") == "  a\n\nb"
