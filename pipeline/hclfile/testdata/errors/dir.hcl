task "a" {
  run = ["true"]
  dir = "../other" # ERROR: dir leaves the root
}
task "b" {
  run = ["true"]
  dir = "a/../../b" # ERROR: dir leaves the root
}
task "c" {
  run = ["true"]
  dir = "/tmp" # ERROR: dir is an absolute path
}
task "d" {
  run = ["true"]
  dir = "" # ERROR: dir is empty
}
task "e" {
  run = ["true"]
  dir = ["a"] # ERROR: dir must be text in quotes
}
