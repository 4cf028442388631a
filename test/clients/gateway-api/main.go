// Command gateway-api runs the conformance suite of the Gateway API against the cluster of KUBECONFIG. It has the flags of
// the suite (such as -gateway-class) and of a test binary (such as -test.v), and those below. The suite is a library for
// Go tests; this program registers it as its only test, so that `go build` can build it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

var echoImage = flag.String("echo-image", "", "image of the echo servers, instead of the one that the suite names")

func main() {
	testing.Main(regexp.MatchString, []testing.InternalTest{{Name: "Conformance", F: run}}, nil, nil)
}

func run(t *testing.T) {
	options := conformance.DefaultOptions(t)
	options.ManifestFS = []fs.FS{manifests{FS: conformance.Manifests, echoImage: *echoImage}}
	if strings.Contains(options.RunTest, ",") {
		options.SkipTests = append(options.SkipTests, allExcept(t, strings.Split(options.RunTest, ","))...)
		options.RunTest = ""
	}
	options.Hook = printResult
	conformance.RunConformanceWithOptions(t, options)
}

// printResult prints the result of a test as soon as it has ended. Go's test runner prints results at the end of all tests.
func printResult(t *testing.T, test suite.ConformanceTest, _ *suite.ConformanceTestSuite) {
	outcome := "passed"
	if t.Skipped() {
		outcome = "skipped"
	}
	if t.Failed() {
		outcome = "failed"
	}
	fmt.Printf("\nresult: %s %s\n", test.ShortName, outcome)
}

// allExcept returns the names of all tests except the given ones. The suite's own flag -run-test has only one name.
func allExcept(t *testing.T, wanted []string) []string {
	isNamed := func(name string) func(suite.ConformanceTest) bool {
		return func(test suite.ConformanceTest) bool { return test.ShortName == name }
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(tests.ConformanceTests, isNamed(name)) {
			t.Fatalf("the suite has no test %q", name)
		}
	}
	var others []string
	for _, test := range tests.ConformanceTests {
		if !slices.Contains(wanted, test.ShortName) {
			others = append(others, test.ShortName)
		}
	}
	return others
}

// manifests are the suite's manifests for a cluster without a registry: with another image of the echo servers, and
// without the Deployment of a DNS server, which only tests of UDPRoute use.
type manifests struct {
	fs.FS
	echoImage string
}

var (
	separator = []byte("\n---\n")
	echoName  = regexp.MustCompile(`registry\.k8s\.io/gateway-api/echo-basic:\S+`)
	dnsName   = []byte("registry.k8s.io/coredns/coredns:")
)

func (m manifests) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(m.FS, name)
	if err != nil || m.echoImage == "" {
		return text, err
	}
	objects := slices.DeleteFunc(bytes.Split(text, separator), func(object []byte) bool {
		return bytes.Contains(object, dnsName)
	})
	return echoName.ReplaceAllLiteral(bytes.Join(objects, separator), []byte(m.echoImage)), nil
}
