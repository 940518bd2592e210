"""Packs the Python package and the library into a wheel: wheel.py LIBRARY FOLDER."""

import base64
import hashlib
import pathlib
import sys
import zipfile

library, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
version = "1.2.0"
info = f"stats-{version}.dist-info"
files = {str(p): p.read_bytes() for p in sorted(pathlib.Path("stats").glob("*.py"))}
files["stats/libstats.so"] = library.read_bytes()
files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: stats\nVersion: {version}\n".encode()
files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n"
record = ""
for name, data in files.items():
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record += f"{name},sha256={digest},{len(data)}\n"
files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
folder.mkdir(parents=True, exist_ok=True)
path = folder / f"stats-{version}-py3-none-linux_x86_64.whl"
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        wheel.writestr(zipfile.ZipInfo(name), data)
print(path)
