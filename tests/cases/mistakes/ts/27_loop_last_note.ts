import { mailBox } from "tools";

for (const to of ["a@example.org", "b@example.org"]) {
  await mailBox.send({ to: [to], text: "hello" });
}
