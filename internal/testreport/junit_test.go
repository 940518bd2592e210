package testreport

import (
	"slices"
	"testing"
)

// JUnit files read together, and when they do not prove a fix.
func TestReports(t *testing.T) {
	t.Parallel()
	before := ReadReports([][]byte{
		[]byte(`<testsuite><testcase classname="shop.Price" name="net"><failure message="a &lt; b"/></testcase>` + "\n" + `<testcase classname="shop.Price"` + "\n" + `name="gross"/></testsuite>`),
		[]byte(`<testsuites><testcase name="a"><error/></testcase><testcase name="b"><skipped/></testcase><testcase name="c"><system-out><![CDATA[<failure/>]]></system-out></testcase></testsuites>`),
		[]byte(`<html/>`),
	})
	if before.Files != 2 || before.Ran != 4 || !slices.Equal(before.Failing, []string{"a", "shop.Price.net"}) {
		t.Errorf("%+v", before)
	}
	for name, c := range map[string]struct {
		passed Reports
		want   string
	}{
		"all of them":   {Reports{Files: 2, Ran: 4}, ""},
		"more":          {Reports{Files: 3, Ran: 9}, ""},
		"another one":   {Reports{Files: 2, Ran: 4, Failing: []string{"known"}}, ""},
		"still failing": {Reports{Files: 2, Ran: 4, Failing: []string{"a"}}, "tests_failed: the check passes, and its JUnit report names a as failing"},
		"one fewer":     {Reports{Files: 2, Ran: 3}, "tests_not_run: JUnit reports of the failed check name 4 tests that ran, and 3 with the patch"},
		"no report":     {Reports{}, "tests_not_run: JUnit reports of the failed check name 4 tests that ran, and 0 with the patch"},
	} {
		if got := before.Unproven(c.passed); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := (Reports{}).Unproven(Reports{}); got != "" {
		t.Errorf("without reports: %q", got)
	}
}

func TestReportsLost(t *testing.T) {
	t.Parallel()
	r := Reports{Failing: []string{"shop.T.a", "shop.T.b", "shop.U", "shop.V.initializationError", "x.test.js"}}
	tests := append([]string{"printed only"}, r.Failing...)
	if got := r.Lost(tests, Reports{Passed: []string{"shop.T.a", "shop.U.c"}}); !slices.Equal(got, []string{"shop.T.b"}) {
		t.Errorf("%q", got)
	}
}
