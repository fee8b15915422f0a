"""A short made-up text whose words have prefixes, stems and endings."""

STEMS = ["чит", "пис", "рис", "каш", "вод", "лес", "дом", "стол", "рук", "ног", "слов", "дел", "игр", "свет", "мор"]
ENDINGS = ["а", "у", "ой", "ы", "ам", "ами", "ах", "ать", "ал", "ала", "али", "ает", "ают", "ник", "ника", "ники"]
PREFIXES = ["", "по", "за", "пере", "на", "про", "под"]
TEXT = "\n".join(" ".join(p + s + e for s in STEMS) for p in PREFIXES for e in ENDINGS) + "\n"
