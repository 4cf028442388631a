// Command cert-manager runs the controllers of cert-manager, or its server for HTTP-01 challenges.
//
// The proxy for Go modules does not have the modules of cert-manager's own commands, only the module with the
// controllers. This program starts these controllers with the defaults of cert-manager's command, except those for
// issuers that the suite does not use (Vault and Venafi).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmechallenges"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmeorders"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/gateways"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/acme"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme"
	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/logs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	logs.InitLogs()
	defer logs.FlushLogs()
	var err error
	if len(os.Args) > 1 && os.Args[1] == "acmesolver" {
		err = solve(ctx, os.Args[2:])
	} else {
		err = control(ctx, os.Args[1:])
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// solve answers one challenge. cert-manager runs it in a pod, with these flags.
func solve(ctx context.Context, args []string) error {
	var server solver.HTTP01Solver
	flags := flag.NewFlagSet("acmesolver", flag.ExitOnError)
	flags.IntVar(&server.ListenPort, "listen-port", 8089, "")
	flags.StringVar(&server.Domain, "domain", "", "")
	flags.StringVar(&server.Token, "token", "", "")
	flags.StringVar(&server.Key, "key", "", "")
	_ = flags.Parse(args)
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	return server.Listen(logs.FromContext(ctx))
}

// control runs all controllers until ctx is done. The cluster is that of KUBECONFIG.
func control(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	solverImage := flags.String("solver-image", "", "image of the pods for HTTP-01 challenges")
	nameservers := flags.String("nameservers", "", "addresses of the name servers for checks of HTTP-01 challenges")
	_ = flags.Parse(args)
	factory, err := controller.NewContextFactory(ctx, options(*solverImage, strings.Fields(*nameservers)))
	if err != nil {
		return err
	}
	// All contexts of a factory share its informers.
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	failed := make(chan error, len(controller.Known()))
	for name, build := range controller.Known() {
		built, err := build(factory)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		running.Go(func() {
			if err := built.Run(workers, ctx); err != nil {
				failed <- fmt.Errorf("controller %s: %w", name, err)
			}
		})
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	shared.GWShared.Start(ctx.Done())
	fmt.Println("cert-manager runs its controllers")
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		running.Wait()
		return nil
	}
}

const workers = 5

func options(solverImage string, nameservers []string) controller.ContextOptions {
	return controller.ContextOptions{
		Kubeconfig:         os.Getenv("KUBECONFIG"),
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		ACMEOptions: controller.ACMEOptions{
			HTTP01SolverImage:                 solverImage,
			HTTP01SolverNameservers:           nameservers,
			HTTP01SolverResourceRequestCPU:    resource.MustParse("10m"),
			HTTP01SolverResourceRequestMemory: resource.MustParse("64Mi"),
			HTTP01SolverResourceLimitsCPU:     resource.MustParse("100m"),
			HTTP01SolverResourceLimitsMemory:  resource.MustParse("64Mi"),
			ACMEHTTP01SolverRunAsNonRoot:      true,
			DNS01CheckRetryPeriod:             10 * time.Second,
			DNS01CheckAuthoritative:           true,
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: 60},
		IssuerOptions:    controller.IssuerOptions{ClusterResourceNamespace: "kube-system"},
		IngressShimOptions: controller.IngressShimOptions{
			DefaultIssuerKind:                 "Issuer",
			DefaultIssuerGroup:                "cert-manager.io",
			DefaultAutoCertificateAnnotations: []string{"kubernetes.io/tls-acme"},
		},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 strings.Split("*,-kubectl.kubernetes.io/,-fluxcd.io/,-argocd.argoproj.io/", ","),
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
		ConfigOptions: controller.ConfigOptions{EnableGatewayAPI: true},
	}
}
