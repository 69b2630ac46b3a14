const answer = await fetch("https://example.org");
return await answer.json();
