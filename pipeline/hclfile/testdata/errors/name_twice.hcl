task "a" {
  run = ["true"]
}
task "a" { # ERROR: "a" is declared a second time
  run = ["true"]
}
job "a" { # ERROR: "a" is declared a second time
  tasks = [task.a]
}
agent "a" {
  command = ["x"]
}
agent "a" { # ERROR: "a" is declared a second time
  command = ["x"]
}
variable "v" {
  default = 1
}
variable "v" { # ERROR: "v" is declared a second time
  default = 2
}
locals {
  l = 1
}
locals {
  l = 2 # ERROR: local "l" is declared a second time
}
