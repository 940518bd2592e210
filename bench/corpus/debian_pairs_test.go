package corpus

var debianPairs = []pair{}
