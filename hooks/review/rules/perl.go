package rules

var perl = Language{Name: "perl"}
