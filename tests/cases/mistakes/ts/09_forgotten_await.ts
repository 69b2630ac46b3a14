import { mailBox } from "tools";

mailBox.send({ to: ["a@example.org"], text: "hello" });
return "sent";
