variable "target" {
  default = "x"
}
variable "targets" {
  type    = list(string)
  default = ["x", "y"]
}
locals {
  twice   = "${var.target}${var.target}"
  targets = concat(var.targets, ["z"])
}
task "text_of_list" {
  for_each = [var.target]
  run      = "deploy ${each.key}" # WARN: Write env = { KEY = each.key } and "$KEY" in the text.
}
task "text_axis" {
  matrix = { os = ["l", "d"], arch = local.targets, n = [1] }
  run    = "echo ${matrix.os} ${matrix.n}"
}
task "text_axis_of_var" {
  matrix = { os = ["l", "d"], arch = local.targets }
  run    = "echo ${matrix.arch}" # WARN: Write env = { ARCH = matrix.arch } and "$ARCH" in the text.
}
task "text_key" {
  for_each = { a = var.target, b = "x" }
  run      = "echo ${each.key}"
}
task "text_value" {
  for_each = { a = var.target, b = "x" }
  run      = "echo ${each.value}" # WARN: each.value, which is made from var.target, becomes part of a shell text
}
task "text_part_of_value" {
  for_each = { a = { x = var.target } }
  run      = "echo ${each.value.x}" # WARN: Write env = { VALUE = … } and "$VALUE" in the text.
}
task "text_somewhere_else" {
  for_each = { a = "deploy ${var.target}" }
  run      = each.value # WARN: var.target becomes part of a shell text: The shell reads what is in it. Write env = { TARGET = var.target }
}
task "text_joined" {
  run = "echo ${join(" ", var.targets)}" # WARN: Write env = { TARGETS = … } and "$TARGETS" in the text.
}
task "text_twice" {
  matrix = { t = var.targets }
  run    = "${local.twice} ${var.target} ${var.target} ${matrix.t} ${matrix.t}" # WARN: var.target becomes # WARN: matrix.t, which is made from var.targets, becomes
}
