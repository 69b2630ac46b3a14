from pathlib import Path
from tools import ToolError, archive, formats

made, failed = [], {}
for source in sorted(Path(".").glob("*.toml")):
    try:
        value = await formats.parse_toml(text=source.read_text())
        target = source.with_suffix(".yaml")
        target.write_text(await formats.write_yaml(value=value))
        made.append(target.name)
    except ToolError as error:
        failed[source.name] = error.code

packed = await archive.zip_create(inputs=made, output="configs.zip")
return {"packed": await archive.zip_list(input=packed), "failed": failed, "first": Path(made[0]).read_text()}
