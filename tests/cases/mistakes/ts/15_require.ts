const axios = require("axios");
return (await axios.get("https://example.org")).data;
