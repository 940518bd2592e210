variable "a" {
  type    = number
  default = "many" # ERROR: the default of variable "a" does not have its type
}
variable "b" {
  type    = strnig # ERROR: Invalid type specification
  default = "x"
}
variable "c" {
  default = null # ERROR: default is null
}
variable "d" {
  default = var.a # ERROR: a default cannot name other values
}
variable "e" {
  default     = 1
  description = 2 # ERROR: description must be text in quotes
}
variable "f" {
  type    = object({ a = string, b = optional(number, "x") }) # ERROR: Invalid default value for optional attribute
  default = { a = "x" }
}
locals {
  silent = [var.a, var.b, var.c, var.d, var.f.a]
}

variable "shape" {
  type    = object({ name = string, level = optional(number, 1) })
  default = { name = "x", levl = 2 } # ERROR: there is no attribute "levl" in it: did you mean level?
}

variable "shapes" {
  type    = map(object({ name = string }))
  default = { a = { name = "x", size = 2 } } # ERROR: there is no attribute "size" in it: there are name
}
