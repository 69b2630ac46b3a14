import { github } from "tools";
class Repo {
  owner: string;
  constructor(owner: string, readonly_ = false) { this.owner = owner; }
  async issues() { return await github.issuesList({ owner: this.owner, repo: "r" }); }
}
return (await new Repo("o").issues()).length;
