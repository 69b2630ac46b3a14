enum State { Open, Closed }
return State.Open;
