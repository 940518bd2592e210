variable "name" {
  default = "x; rm -rf /"
}
variable "count" {
  type    = number
  default = 3
}
locals {
  line = "echo ${var.name}"
}
task "direct" {
  run = "echo ${var.name} ${var.count}" # WARN: var.name becomes part of a shell text
}
task "through_a_local" {
  run = local.line # WARN: Write env = { NAME = var.name } and "$NAME" in the text.
}
task "argv" {
  run = ["echo", var.name, local.line]
}
task "hook" {
  run = ["true"]
  on_fail "run" {
    run = "notify ${var.name}" # WARN: var.name becomes part
  }
}
