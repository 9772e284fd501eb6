//! Assertions and the three hops: each field that is wrong is refused, and a token is good for its purpose only.

use fake_microsoft::entra::{Credential, EntraSpec};
use serde_json::json;

use crate::bench::{Bench, GRAPH, cases, sign, sign_with, text, with};

fn plain() -> EntraSpec {
    EntraSpec::default()
}

cases! {
    three_hops_give_a_users_token [AssertionGood, Hop1, Hop2, Hop3] plain(), |b| {
        let (first, second) = b.two_hops();
        let answer = b.post("token", &b.hop_3_fields(&first, &second)).json();
        assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(3599)));
        assert!(answer.get("refresh_token").is_none());
        let token = text(&answer["access_token"]);
        assert_eq!(b.graph_status(&token), 200);
        assert_eq!((b.graph_status(&first), b.graph_status(&second), b.graph_status("x")), (401, 401, 401));
        b.pass_s(3_598);
        assert_eq!(b.graph_status(&token), 200);
        b.pass_s(1);
        assert_eq!(b.graph_status(&token), 401);
        let by_name = with(with(b.hop_3_fields(&first, &second), "user_id", None), "requested_token_use", None);
        b.refused(&[by_name, vec![("username", b.ids.agent_user_name.as_str())]].concat(), 401, "invalid_client", 700_211);
        let (first, second) = b.two_hops();
        let by_name = with(with(b.hop_3_fields(&first, &second), "user_id", None), "requested_token_use", None);
        b.token(&[by_name, vec![("username", "AGENT@contoso.com")]].concat());
    }

    rs256_is_good_too [Rs256] plain(), |b| {
        let claims = b.claims();
        let jwt = sign(&json!({"alg": "RS256", "typ": "JWT", "x5t#S256": Credential::Blueprint.thumbprint()}), &claims);
        assert_eq!(b.hop_1_with(&jwt).status, 200);
    }

    headers_of_assertions [AssertionForm, AssertionAlgorithm, CertificateUnknown] plain(), |b| {
        let thumbprint = Credential::Blueprint.thumbprint();
        let claims = b.claims();
        for (header, number) in [
            (json!({"alg": "none", "typ": "JWT", "x5t#S256": thumbprint}), 5_002_738),
            (json!({"alg": "HS256", "typ": "JWT", "x5t#S256": thumbprint}), 5_002_738),
            (json!({"typ": "JWT", "x5t#S256": thumbprint}), 5_002_738),
            (json!({"alg": "PS256", "x5t#S256": thumbprint}), 50_027),
            (json!({"alg": "PS256", "typ": "JWT"}), 700_027),
            (json!({"alg": "PS256", "typ": "JWT", "x5t": thumbprint}), 700_027),
            (json!({"alg": "PS256", "typ": "JWT", "x5t#S256": Credential::Other.thumbprint()}), 700_027),
        ] {
            Bench::check(&b.hop_1_with(&sign(&header, &claims)), 401, "invalid_client", number);
        }
        for jwt in ["", "x", "a.b", "a.b.c.d", "e30.e30.", "....", &"x".repeat(100_000)] {
            let answer = b.hop_1_with(jwt);
            assert!(answer.status >= 400, "{jwt:.20}");
        }
    }

    signatures_are_verified [AssertionSignature] plain(), |b| {
        let claims = b.claims();
        let header = json!({"alg": "PS256", "typ": "JWT", "x5t#S256": Credential::Blueprint.thumbprint()});
        Bench::check(&b.hop_1_with(&sign_with(Credential::Other, &header, &claims)), 401, "invalid_client", 700_027);
        let good = sign(&header, &claims);
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let (head, _) = signed.split_once('.').unwrap();
        // Another body under a good signature, and a good body under PSS that says PKCS#1.
        let other = sign(&header, &json!({"aud": "x"}));
        let body = other.split('.').nth(1).unwrap();
        Bench::check(&b.hop_1_with(&format!("{head}.{body}.{signature}")), 401, "invalid_client", 700_027);
        let lying = sign(&json!({"alg": "RS256", "typ": "JWT", "x5t#S256": Credential::Blueprint.thumbprint()}), &claims);
        let lying = format!("{}.{signature}", lying.rsplit_once('.').unwrap().0);
        Bench::check(&b.hop_1_with(&lying), 401, "invalid_client", 700_027);
        assert_eq!(b.hop_1_with(&good).status, 200);
    }

    a_certificate_ends [CertificateEnded] EntraSpec { certificate_ended: true, ..plain() }, |b| {
        let assertion = b.assertion();
        Bench::check(&b.hop_1_with(&assertion), 401, "invalid_client", 700_027);
    }

    claims_of_assertions [AssertionAudience, AssertionIssuer, AssertionTime, AssertionLife, AssertionReplayed] plain(), |b| {
        let header = json!({"alg": "PS256", "typ": "JWT", "x5t#S256": Credential::Blueprint.thumbprint()});
        let now = b.claims()["nbf"].as_i64().unwrap();
        let login = "https://login.microsoftonline.com/common/oauth2/v2.0/token";
        for (name, value, number) in [
            ("aud", json!(login), 700_023),
            ("aud", json!(null), 700_023),
            ("iss", json!(b.ids.agent_id), 700_021),
            ("sub", json!("x"), 700_021),
            ("nbf", json!(now + 301), 700_024),
            ("exp", json!(now - 300), 700_024),
            ("exp", json!("soon"), 700_024),
            ("exp", json!(now + 601), 700_024),
            ("jti", json!(""), 700_027),
        ] {
            let mut claims = b.claims();
            claims[name] = value;
            Bench::check(&b.hop_1_with(&sign(&header, &claims)), 401, "invalid_client", number);
        }
        for (name, value) in [("nbf", now + 300), ("exp", now - 299)] {
            let mut claims = b.claims();
            claims[name] = json!(value);
            assert_eq!(b.hop_1_with(&sign(&header, &claims)).status, 200, "{name}");
        }
        let once = b.assertion();
        assert_eq!(b.hop_1_with(&once).status, 200);
        Bench::check(&b.hop_1_with(&once), 401, "invalid_client", 700_027);
    }

    fields_of_hop_1 [FieldMissing, AssertionType, ClientUnknown, SecretRefused, ExchangeScope, FmiBound] plain(), |b| {
        for missing in ["client_id", "scope", "client_assertion_type", "client_assertion", "grant_type"] {
            let assertion = b.assertion();
            b.refused(&with(b.hop_1_fields(&assertion), missing, None), 400, "invalid_request", 900_144);
        }
        let assertion = b.assertion();
        b.refused(&with(b.hop_1_fields(&assertion), "client_assertion_type", Some("jwt")), 401, "invalid_client", 700_027);
        b.refused(&with(b.hop_1_fields(&assertion), "client_id", Some("nobody")), 400, "unauthorized_client", 700_016);
        let secret = [b.hop_1_fields(&assertion), vec![("client_secret", "x")]].concat();
        b.refused(&secret, 401, "invalid_client", 7_000_215);
        // Another scope, and no fmi_path, are found out at hop 2.
        let other_agent = b.ids.blueprint_id.clone();
        for (field, value) in [("scope", Some(GRAPH)), ("fmi_path", None), ("fmi_path", Some(other_agent.as_str()))] {
            let assertion = b.assertion();
            let first = b.token(&with(b.hop_1_fields(&assertion), field, value));
            b.refused(&b.hop_2_fields(&first), 401, "invalid_client", 700_211);
        }
    }

    fields_of_hop_2 [T2Bound] plain(), |b| {
        let (first, second) = b.two_hops();
        b.refused(&b.hop_2_fields("junk"), 401, "invalid_client", 700_211);
        b.refused(&b.hop_2_fields(&second), 401, "invalid_client", 700_211);
        let wrong = b.token(&with(b.hop_2_fields(&first), "scope", Some(GRAPH)));
        for second in [wrong.as_str(), first.as_str(), "junk"] {
            b.refused(&b.hop_3_fields(&first, second), 400, "invalid_grant", 700_211);
        }
        b.pass_s(3_599);
        b.refused(&b.hop_2_fields(&first), 401, "invalid_client", 700_211);
    }

    fields_of_hop_3 [UserNamed, TokenUse, GraphScope, GrantUnknown, UserFicOnly] plain(), |b| {
        let (first, second) = b.two_hops();
        let fields = || b.hop_3_fields(&first, &second);
        b.refused(&with(fields(), "user_id", None), 400, "invalid_grant", 50_034);
        b.refused(&with(fields(), "user_id", Some(&b.ids.client_id)), 400, "invalid_grant", 50_034);
        b.refused(&[fields(), vec![("username", b.ids.agent_user_name.as_str())]].concat(), 400, "invalid_grant", 50_034);
        b.refused(&with(fields(), "requested_token_use", Some("me")), 400, "invalid_request", 900_144);
        b.refused(&with(fields(), "scope", Some("Chat.Read")), 400, "invalid_scope", 70_011);
        b.refused(&with(fields(), "client_id", Some(&b.ids.blueprint_id)), 400, "unauthorized_client", 700_016);
        b.refused(&with(fields(), "user_federated_identity_credential", None), 400, "invalid_request", 900_144);
        let old = with(fields(), "grant_type", Some("urn:ietf:params:oauth:grant-type:jwt-bearer"));
        b.refused(&old, 400, "unsupported_grant_type", 70_003);
        b.token(&fields());
    }

    consent_is_needed [Consent] EntraSpec { without_consent: true, ..plain() }, |b| {
        let (first, second) = b.two_hops();
        let answer = b.post("token", &b.hop_3_fields(&first, &second));
        Bench::check(&answer, 400, "invalid_grant", 65_001);
        assert_eq!(answer.json()["suberror"], "consent_required");
        b.entra.with(fake_microsoft::entra::FakeEntra::consent);
        b.token(&b.hop_3_fields(&first, &second));
    }

    claims_are_in_the_token [Claims] plain(), |b| {
        let demanded = json!({"access_token": {"nbf": {"essential": true, "value": "1"}}});
        let (first, second) = b.two_hops();
        let poor = b.token(&b.hop_3_fields(&first, &second));
        b.graph.with(|graph| graph.demand_claims(Some(demanded.clone())));
        assert_eq!(b.graph_status(&poor), 401);
        let mut asked = demanded.clone();
        asked["access_token"]["xms_cc"] = json!({"values": ["cp1"]});
        let asked = asked.to_string();
        let rich = b.token(&[b.hop_3_fields(&first, &second), vec![("claims", &asked)]].concat());
        assert_eq!(b.graph_status(&rich), 200);
        b.refused(&[b.hop_3_fields(&first, &second), vec![("claims", "[]")]].concat(), 400, "invalid_request", 90_023);
        b.graph.with(|graph| graph.demand_claims(None));
        assert_eq!(b.graph_status(&poor), 200);
        b.graph.with(fake_microsoft::graph::FakeGraph::revoke_all_tokens);
        assert_eq!(b.graph_status(&rich), 401);
    }

    a_policy_blocks [ClaimsBlocked] EntraSpec { policy_blocks_claims: true, ..plain() }, |b| {
        let (first, second) = b.two_hops();
        let asked = [b.hop_3_fields(&first, &second), vec![("claims", "{}")]].concat();
        b.refused(&asked, 400, "interaction_required", 53_003);
    }
}
