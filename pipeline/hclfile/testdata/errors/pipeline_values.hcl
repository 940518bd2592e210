pipeline {
  name        = "" # ERROR: name is empty
  concurrency = 0  # ERROR: concurrency must be a whole number, 1 or more
}
agent "a" {
  command = "./agent.sh" # ERROR: Write command = ["./agent.sh"].
}
agent "b" {
  command = [] # ERROR: command is empty
}
agent "c" {
  command = ["", "x"] # ERROR: command begins with an empty word
}
