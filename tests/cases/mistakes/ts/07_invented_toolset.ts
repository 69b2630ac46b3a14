const page = await notion.pagesCreate({ title: "Plan" });
return page.id;
