import config from "../config.json";

return config.token;
