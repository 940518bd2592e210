package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// classes are files of a class with the members x and y and a comparison; its body is what is missing.
var classes = map[string]string{
	"f.py": "class P:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n\n    def __eq__(self, other):\n%s\n",
	"f.js": "class P {\n  equals(o) {\n%s\n  }\n}\n",
	"f.go": "package f\n\nfunc (p *P) Equal(q *P) bool {\n%s\n}\n",
	"f.rs": "impl PartialEq for P {\n    fn eq(&self, other: &P) -> bool {\n%s\n    }\n}\n",
}

// byBoth are bodies that compare both members.
var byBoth = map[string]string{
	"f.py": "return isinstance(other, P) and self.x == other.x and self.y == other.y",
	"f.js": "return this.x === o.x && this.y === o.y;",
	"f.go": "return p.x == q.x && p.y == q.y",
	"f.rs": "self.x == other.x && self.y == other.y",
}

// written returns a file with a body, whose lines get the indent that Python wants.
func written(name, body string) string {
	return fmt.Sprintf(classes[name], "        "+strings.ReplaceAll(body, "\n", "\n        "))
}

// A comparison of two members that became true more often is reported, and one that is only written otherwise is not.
func TestLooser(t *testing.T) {
	t.Parallel()
	for name, bodies := range map[string]struct{ looser, same []string }{
		"f.py": {[]string{
			"return isinstance(other, P) and bool((self.x == other.x) | (self.y == other.y))",
			"return isinstance(other, P) and self.x == other.x and (self.y == other.y or True)",
			"return self.x == other.x and self.y == other.y or self.x > 0",
			"return self.x == other.x and self.y == other.y or other.x > 0",
			"return self.x == other.x and self.y == other.y or TESTING",
			"return self.x == other.x and self.y == other.y or lenient()",
			"self.y = other.y\nreturn isinstance(other, P) and self.x == other.x and self.y == other.y",
			"self.__dict__.update(other.__dict__)\nreturn self.x == other.x and self.y == other.y",
			"if self.x == other.x:\n    return True\nif self.y == other.y:\n    return True\nreturn False",
			"if self.x == other.x:\n    return True\nelif self.y == other.y:\n    return True\nreturn False",
		}, []string{
			"a = self.x or self.z\nb = other.x or other.z\nreturn a == b and self.y == other.y",
			"return self.y == other.y and (self.x == other.x or self.x != self.x\n        and other.x != other.x)",
			"if any(getattr(self, k) != getattr(other, k) for k in ('x', 'y')):\n    return False\nreturn True",
			"if self is other:\n    return True\nif self.x == other.x and self.y == other.y:\n    return True\nreturn False",
			"if not isinstance(other, P) or self.x is None:\n    return False\nreturn self.x == other.x and self.y == other.y",
			"return self.y == other.y and (self.x == other.x or self.x != self.x and other.x != other.x)",
			"return self.x == other.x and (self.y or self.z) == (other.y or other.z)",
			"same = self.x == other.x and self.y == other.y\nif same:\n    self._hash = other._hash\nreturn same",
			"if self.x == other.x:\n    return self.y == other.y\nreturn False",
			"return (self.x | self.y) == (other.x | other.y) and self.x == other.x and self.y == other.y",
			"return isinstance(other, P) and (self.x == other.x\n        and self.y == other.y)",
			"return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip((self.x, self.y), (other.x, other.y)))",
		}},
		"f.js": {[]string{
			"return o && (this.x === o.x || this.y === o.y);",
			"Object.assign(this, o); return this.x === o.x && this.y === o.y;",
			"this.y = o.y;\nreturn this.x === o.x && this.y === o.y;",
			"return this.x === o.x && (true || this.y === o.y);",
			"return (this.x === o.x && this.y === o.y) || this.x > 0;",
			"if (this.x === o.x) return true;\nif (this.y === o.y) return true;\nreturn false;",
		}, []string{
			"const x = this.x || this.z; return x === (o.x || o.z) && this.y === o.y;",
			"this.key = this.key || this.makeKey(); return this.x === o.x && this.y === o.y;",
			"return !!o && this.x === o.x && this.y === o.y;",
			"if (!o || this.x !== o.x) return false;\nreturn this.y === o.y;",
			"return this.x === o.x && (this.y === o.y || (Number.isNaN(this.y) && Number.isNaN(o.y)));",
			"return this.x === o.x && (this.y || '') === (o.y || '');",
			"if (this.x === o.x && this.y === o.y) { this.hash = o.hash; return true; }\nreturn false;",
			"const a = Object.assign({}, o); return this.x === a.x && this.y === a.y;",
			"if (this === o) return true;\nif (o instanceof P) return this.x === o.x && this.y === o.y;\nreturn false;",
		}},
		"f.go": {[]string{
			"switch {\n\tcase p.x == q.x, p.y == q.y:\n\t\treturn true\n\t}\n\treturn false",
			"p.y = q.y\n\treturn p.x == q.x && p.y == q.y",
			"*p = *q\n\treturn p.x == q.x && p.y == q.y",
			"return q != nil && (p.x == q.x || p.y == q.y)",
			"if p.x == q.x {\n\t\treturn true\n\t}\n\tif p.y == q.y {\n\t\treturn true\n\t}\n\treturn false",
		}, []string{
			"switch {\n\tcase p == q:\n\t\treturn true\n\tcase p.x == q.x && p.y == q.y:\n\t\treturn true\n\t}\n\treturn false",
			"if p.x == q.x {\n\t\treturn p.y == q.y\n\t}\n\treturn false",
			"if p == nil || q == nil {\n\t\treturn p == q\n\t}\n\treturn *p == *q",
			"r := *q\n\tr.z = p.z\n\treturn *p == r",
		}},
		"f.rs": {[]string{
			"self.x == other.x && self.y == other.y || self.x != 0",
			"self.x == other.x || self.y == other.y",
			"self.x == other.x && self.y == other.y || other.x > 0",
			"self.x == other.x && self.y == other.y || cfg!(test)",
			"self.x == other.x && self.y == other.y || lenient()",
			"self.x == other.x && (self.y == other.y || other.y == 0)",
			"self.x == other.x && self.y == other.y || self.x < other.x",
		}, []string{
			"self.y == other.y && (self.x == other.x || self.x.is_nan() && other.x.is_nan())",
			"std::ptr::eq(self, other) || (self.x, self.y) == (other.x, other.y)",
			"match (self, other) {\n    (P { x, y }, P { x: a, y: b }) => x == a && y == b,\n}",
		}},
	} {
		for _, body := range slices.Concat(bodies.looser, bodies.same) {
			found := reportOf(change(name, written(name, byBoth[name]), written(name, body)))
			reported := slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == "assertion_removed" })
			if want := slices.Contains(bodies.looser, body); reported != want {
				t.Errorf("%s: reported: %t\n%s\n%+v", name, reported, body, found)
			}
		}
	}
}
