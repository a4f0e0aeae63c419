"""Names that can be mistaken for others: what a name looks like, and what no name may contain.

Source: Unicode Technical Standard 39 (version 15.1): "Highly Restrictive" mixing of scripts (5.2) and confusable
characters (4), of which those that look like one ASCII letter count. Two names of ASCII characters look alike only if
they differ in case: ``rn`` and ``m`` are no look-alikes.
"""

from __future__ import annotations

import unicodedata

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\u2800")
_VARIATION_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_LATIN = frozenset({"LATIN"})
_MIXED_WITH_LATIN = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"CJK", "BOPOMOFO"}),
    frozenset({"CJK", "HANGUL"}),
)
"""Scripts that one name may mix, with each other and with Latin."""
_OF_NO_SCRIPT = frozenset({"FEMININE", "MASCULINE", "MODIFIER", "IDEOGRAPHIC"})

_ALIKE = {
    "a": "аαɑꭺᎪꓮᗅ",
    "b": "ВΒвᏴꓐᗷ",
    "c": "сϲСϹᴄⲥᏟꓚ",
    "d": "ԁᎠꓓᗞ",
    "e": "еҽЕΕꬲᎬꓰ",
    "f": "ϝϜꞙքẝꓝ",
    "g": "ɡɢԍԌցᶃᏀꓖ",
    "h": "һհНΗᏂᎻꓧ",
    "i": "іιıɩɪӏІΙӀꙇᎥ",
    "j": "јϳЈᎫꓙ",
    "k": "КΚкκᏦꓗ",
    "l": "ǀᏞꓡᒪ",
    "m": "МΜмᎷꓟ",
    "n": "ոռΝᴨꓠ",
    "o": "оοՕОΟօσᴏⲟꬽჿꓳ",
    "p": "рρРΡⲣᏢꓑ",
    "q": "ԛզգ",
    "r": "гⲅᴦꭇᎡꓣ",
    "s": "ѕЅՏƽꜱᏚꓢ",
    "t": "ТΤтτᎢꓔ",
    "u": "υսʋᴜꓴ",
    "v": "νѵᴠᏙꓦ",
    "w": "ѡԝɯաᴡᎳꓪ",
    "x": "хХΧχꓫ",
    "y": "уүγΥҮУყᎩꓬ",
    "z": "ΖᴢᏃꓜ",
}
_TO_ASCII = {ord(letter): ascii_letter for ascii_letter, letters in _ALIKE.items() for letter in letters}


def look_of(name: str) -> str:
    """Return what a name looks like: names that can be mistaken for each other look the same."""
    visible = "".join(sign for sign in unicodedata.normalize("NFKC", name) if not _is_invisible(sign))
    return " ".join(visible.translate(_TO_ASCII).casefold().translate(_TO_ASCII).split())


def deceptive_part(name: str) -> str | None:
    """Return what of a name can deceive its reader, as the end of a sentence; None if nothing can."""
    for sign in name:
        if _is_invisible(sign):
            return f"contains the invisible character U+{ord(sign):04X}"
    if name != (plain := unicodedata.normalize("NFKC", name)):
        return f"contains variants of other characters; write {plain!r}"
    if name != " ".join(name.split()):
        return "begins or ends with a space, or contains several in a row"
    scripts = {script for sign in name if (script := _script_of(sign))}
    if len(scripts) > 1 and not any(scripts <= _LATIN | allowed for allowed in _MIXED_WITH_LATIN):
        return f"mixes the scripts {' and '.join(sorted(script.title() for script in scripts))}"
    return None


def invisible_character(text: str) -> str | None:
    """Return the first invisible character of a text, as ``U+200B``; emoji sequences need U+200D and U+FE0F."""
    wrong = next((sign for sign in text if _is_invisible(sign) and sign not in "\u200d\ufe0f"), None)
    return None if wrong is None else f"U+{ord(wrong):04X}"


def becomes_another(address: str) -> bool:
    """Return whether an address in lower case is that of another person: the Kelvin sign, U+212A, becomes ``k``."""
    return any(not sign.isascii() and sign.lower().isascii() for sign in address)


def _is_invisible(sign: str) -> bool:
    is_selector = any(ord(sign) in selectors for selectors in _VARIATION_SELECTORS)
    return is_selector or sign in _INVISIBLE_LETTERS or unicodedata.category(sign) in _INVISIBLE_CATEGORIES


def _script_of(sign: str) -> str | None:
    """Return the script of a letter by its Unicode name; None for marks, digits and what all scripts share."""
    if not sign.isalpha():
        return None
    script = unicodedata.name(sign, "").split(" ")[0].split("-")[0]
    return None if script in _OF_NO_SCRIPT else script
