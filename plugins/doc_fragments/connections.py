"""The options of every module for its servers and its run; specified as `CONNECTIONS` in common/arguments."""

from __future__ import annotations


class ModuleDocFragment:
    """The options `kubernetes`, `opensearch` and `lock`."""

    DOCUMENTATION = r"""
options:
  kubernetes:
    description:
      - The address of the Kubernetes API, and the credentials for it.
      - Without O(kubernetes.host), O(kubernetes.kubeconfig) and O(kubernetes.context), the kubeconfig of the user
        (C(~/.kube/config)) is taken. If there is none, the service account of the pod that Ansible runs in is taken.
      - Credential plugins of a kubeconfig are supported, and so is impersonation (C(as), C(as-groups), C(as-uid) and
        C(as-user-extra)).
      - A client certificate and its key are also taken from the environment variables E(K8S_AUTH_CERT_FILE) and
        E(K8S_AUTH_KEY_FILE), and the user to impersonate from E(K8S_AUTH_IMPERSONATE_USER) and
        E(K8S_AUTH_IMPERSONATE_GROUPS), in which commas separate the groups.
    type: dict
    suboptions:
      kubeconfig:
        description:
          - A kubeconfig file, or several with colons between them. Of entries with the same name the first one counts.
          - Taken from the environment variable E(K8S_AUTH_KUBECONFIG) or E(KUBECONFIG) if not given.
        type: path
      context:
        description:
          - The context of the kubeconfig.
          - Taken from the environment variable E(K8S_AUTH_CONTEXT) if not given.
        type: str
      host:
        description:
          - The URL of the API server. It takes precedence over the server named in O(kubernetes.kubeconfig) or
            O(kubernetes.context). Without these two no kubeconfig is read. It holds no user name and no password.
          - Taken from the environment variable E(K8S_AUTH_HOST) if not given.
        type: str
      api_key:
        description:
          - A bearer token. It takes precedence over the credentials of the kubeconfig. As with C(kubectl --token), the
            impersonation of the kubeconfig stays.
          - Taken from the environment variable E(K8S_AUTH_API_KEY) if not given.
        type: str
      validate_certs:
        description:
          - Whether the certificate of the API server is checked. With V(true), a kubeconfig can still
            switch that off (C(insecure-skip-tls-verify)).
          - Taken from the environment variable E(K8S_AUTH_VALIDATE_CERTS) or E(K8S_AUTH_VERIFY_SSL) if not given.
        type: bool
        default: true
        aliases: [verify_ssl]
      ca_cert:
        description:
          - The file with the CA certificate of the API server.
          - Taken from the environment variable E(K8S_AUTH_CA_CERT) or E(K8S_AUTH_SSL_CA_CERT) if not given.
          - If it is given, the certificate is checked even if the kubeconfig says otherwise.
        type: path
        aliases: [ssl_ca_cert]
      proxy:
        description:
          - The URL of an HTTP proxy to the API server, with C(user:password@) if the proxy asks for that. It takes
            precedence over the C(proxy-url) of the kubeconfig, which takes precedence over E(HTTPS_PROXY) or
            E(HTTP_PROXY) of the environment.
          - This machine itself is never reached through a proxy of the environment.
          - Taken from the environment variable E(K8S_AUTH_PROXY) if not given.
        type: str
      no_proxy:
        description:
          - Hosts, domains, addresses and networks, separated by commas, for which no proxy is used. It takes precedence
            over E(NO_PROXY) of the environment.
          - Taken from the environment variable E(K8S_AUTH_NO_PROXY) if not given.
        type: str
      request_timeout:
        description:
          - Seconds to wait for the whole answer to one request. Within them a request that only reads is tried several
            times. A longer pause that the server asks for (C(Retry-After)) is not kept.
        type: int
        default: 30
  opensearch:
    description:
      - The address of the OpenSearch cluster, and the credentials for it.
      - An environment variable without a value counts as not given.
    type: dict
    suboptions:
      hosts:
        description:
          - URLs of the REST ports of one or more members, or of a service in front of them. One that answers is enough.
          - All begin with C(https://), or all with C(http://). They hold no user name and no password.
          - Taken from the environment variable E(OPENSEARCH_HOSTS) or E(OPENSEARCH_URL) if not given.
        type: list
        elements: str
        aliases: [url]
      username:
        description:
          - The user name for basic authentication.
          - Taken from the environment variable E(OPENSEARCH_USERNAME) if not given.
        type: str
      password:
        description:
          - The password for basic authentication.
          - Taken from the environment variable E(OPENSEARCH_PASSWORD) if not given.
        type: str
      client_cert:
        description:
          - The file with a client certificate.
          - Taken from the environment variable E(OPENSEARCH_CLIENT_CERT) if not given.
        type: path
      client_key:
        description:
          - The file with the key of O(opensearch.client_cert).
          - Taken from the environment variable E(OPENSEARCH_CLIENT_KEY) if not given.
        type: path
      ca_cert:
        description:
          - The file with the CA certificate of the cluster.
          - Taken from the environment variable E(OPENSEARCH_CA_CERT) if not given.
        type: path
      validate_certs:
        description: Whether the certificates of the members are checked.
        type: bool
        default: true
      proxy:
        description:
          - The URL of an HTTP proxy to the cluster, with C(user:password@) if the proxy asks for that. It takes
            precedence over E(HTTPS_PROXY) or E(HTTP_PROXY) of the environment.
          - This machine itself is never reached through a proxy of the environment.
        type: str
      no_proxy:
        description:
          - Hosts, domains, addresses and networks, separated by commas, for which no proxy is used. It takes precedence
            over E(NO_PROXY) of the environment.
        type: str
      port_forward:
        description:
          - Reach the cluster through the Kubernetes API (option O(kubernetes)), as C(kubectl port-forward) does, if
            there is no other way to it. Each connection goes to a Ready pod. If that pod goes away, the next connection
            goes to another one.
          - O(opensearch.hosts) is then one URL to which no connection is made. It says whether there is TLS, and the
            name in the certificates of the members, as in V(https://opensearch.search.svc:9200).
          - Needs the rights C(get) and C(create) of C(pods/portforward), C(list) of C(pods), and with
            O(opensearch.port_forward.service) C(get) of C(services).
        type: dict
        suboptions:
          namespace:
            description: The namespace of the pods.
            type: str
            required: true
          service:
            description: The Service in front of the members. Either this or O(opensearch.port_forward.label_selector).
            type: str
          label_selector:
            description: The labels of the members' pods.
            type: str
          port:
            description: The REST port of the Service, or of the pods if no Service is given.
            type: int
            default: 9200
      after:
        description:
          - The connection to members that have restarted, where a run switches TLS on or off at the REST port, or
            security as a whole. Each request goes to the connection that has answered last, and to the other one if
            that one fails. Every member that restarts has to answer here before the next one goes.
          - The proxy, O(opensearch.port_forward) and O(opensearch.request_timeout) serve both connections.
        type: dict
        suboptions:
          hosts:
            description:
              - URLs as in O(opensearch.hosts), with the new scheme.
            type: list
            elements: str
            aliases: [url]
            required: true
          username:
            description:
              - The user name for basic authentication.
              - If it is not given and the new addresses have TLS, O(opensearch.username) and O(opensearch.password)
                are used. Without TLS only a user that is given here is named.
            type: str
          password:
            description: The password for basic authentication.
            type: str
          client_cert:
            description: The file with a client certificate.
            type: path
          client_key:
            description: The file with the key of O(opensearch.after.client_cert).
            type: path
          ca_cert:
            description: The file with the CA certificate of the cluster.
            type: path
          validate_certs:
            description: Whether the certificates of the members are checked.
            type: bool
            default: true
      request_timeout:
        description: Seconds to wait for the whole answer to one request, even if several hosts are tried for it.
        type: int
        default: 30
  alertmanager:
    description:
      - The address of the Alertmanager that holds silences for the run, and the credentials for it. The task renews the
        silences of its run, see M(stateful.upgrade.alert_silence). Without O(alertmanager.url) none is
        asked.
    type: dict
    suboptions:
      url:
        description: The URL before C(/api/v2), without user name and password.
        type: str
      username:
        description: The user name for basic authentication.
        type: str
      password:
        description: The password for basic authentication.
        type: str
      token:
        description: A bearer token. It takes precedence over O(alertmanager.username).
        type: str
      ca_cert:
        description: The file with the CA certificate of the Alertmanager.
        type: path
      validate_certs:
        description: Whether the certificate of the Alertmanager is checked.
        type: bool
        default: true
      request_timeout:
        description: Seconds to wait for an answer.
        type: int
        default: 10
      silence_duration:
        description: Seconds for which a silence lasts without being renewed.
        type: int
        default: 900
      cluster:
        description:
          - The name of this cluster among those that share the Alertmanager. It is needed only if several Longhorns do,
            since these have no UUID by which their silences could be kept apart.
        type: str
  from_variables:
    description:
      - The options that the task takes from the variables of a run, such as C(upgrade_namespace), if it does not set
        them.
      - With V(shared) it is the options that all tasks of a run share - the connections, the namespace, the lock, the
        consents, the choice of checks, and the place of the record. With V(all) it is every option that has a variable,
        as in the tasks of this collection's own roles.
    type: str
    choices: [none, shared, all]
    default: none
  lock:
    description:
      - The lock of the run that the task belongs to, as M(stateful.upgrade.upgrade_lock) returns it.
      - The task renews the lock first. It stops without acting once another run holds the lock, and between members
        once someone has asked the run to stop.
      - Without this option the task belongs to no run, and ignores locks.
    type: dict
    suboptions:
      run:
        description: The run.
        type: str
        required: true
      name:
        description: The name of the lock.
        type: str
        required: true
      kept_in:
        description:
          - The place of the lock - a Lease in a namespace, or the OpenSearch cluster itself.
          - For a lock in the cluster the task needs the OpenSearch permissions
            C(cluster:admin/component_template/get) and C(cluster:admin/component_template/put).
        type: str
        choices: [kubernetes, opensearch]
        default: kubernetes
      namespace:
        description: The namespace of the Lease.
        type: str
      lease_duration:
        description: The time for which it lasts without being renewed.
        type: int
        default: 60
      record:
        description:
          - The place of the run's record. If it is given, a pause of the upgrade ends a wait at which nothing is half
            done. The verdict then waits, and the task does not fail.
        type: dict
        suboptions:
          kept_in:
            description: See O(stateful.upgrade.upgrade_record#module:record_kept_in).
            type: str
            choices: [kubernetes, file, none]
          path:
            description: The folder of records that are files.
            type: path
            default: ~/.local/state/stateful.upgrade
requirements:
  - kubernetes >= 31.0 (Python package)
  - urllib3 >= 2.0 (Python package, which kubernetes brings)
"""
