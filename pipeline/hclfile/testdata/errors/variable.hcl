variable "a" {
  type    = number
  default = "many" # ERROR: the default of variable "a" does not have its type
}
variable "b" {
  type    = strnig # ERROR: there is no type "strnig": Did you mean string?
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
  type    = object({ a = string, b = optional(number, "x") }) # ERROR: the default of an optional attribute does not have its type: In it: a number is required.
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
variable "type_of_a_call" {
  type = lst(string) # ERROR: there is no type "lst": Did you mean list?
}
variable "type_of_nothing" {
  type = zzzz # ERROR: there is no type "zzzz": Write string, number
}
variable "type_in_quotes" {
  type = "string" # ERROR: this is no type: Write string, number, bool, any, list(TYPE), set(TYPE), map(TYPE), object({ NAME = TYPE }) or tuple([TYPE]), without quotes.
}
variable "type_unfinished" {
  type = list # ERROR: this is no type: Write
}
variable "tuple_element" {
  type    = tuple([string, number])
  default = ["a", "b"] # ERROR: does not have its type: element 1 (counted from 0): a number is required.
}
variable "tuple_length" {
  type    = tuple([string, number])
  default = ["a"] # ERROR: does not have its type: its length is 1, and that of its type 2.
}
variable "deep_element" {
  type    = map(object({ level = number }))
  default = { a = { level = "x" } } # ERROR: does not have its type: element "a": attribute "level": a number is required.
}
