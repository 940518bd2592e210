task "a" {
  run = [] # ERROR: run is empty
}
task "b" {
  run = "" # ERROR: run is empty
}
task "c" {
  run = [" ", "x"] # ERROR: run begins with an empty word
}
task "d" {
  run = "  \n" # ERROR: run is empty
}
