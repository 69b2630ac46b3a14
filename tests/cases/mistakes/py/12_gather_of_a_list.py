import asyncio
from tools import pdf

return await asyncio.gather([pdf.text(path=p) for p in ("a.pdf", "b.pdf")])
