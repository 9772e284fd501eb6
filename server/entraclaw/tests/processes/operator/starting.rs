//! Help for beginners: a starter configuration, completions, man pages, and lists of people.

use std::fs;

use super::support::{ALICE, Fixture, TENANT};

#[test]
fn a_starter_configuration_is_written_once_and_is_private() {
    let fixture = Fixture::bare();
    let printed = fixture.run(&["init", "--print"]);
    assert_eq!(printed.code, 0);
    assert!(!fixture.home.exists(), "printing writes nothing");
    let said = fixture.run(&["init"]);
    assert!(said.code == 0 && said.out.contains("entraclaw login"), "{}{}", said.out, said.err);
    let path = fixture.home.join("config.toml");
    assert_eq!(fs::read_to_string(&path).unwrap(), printed.out);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&fixture.home).unwrap().permissions().mode() & 0o777, 0o700);
    }
    fs::write(&path, "# mine\n").unwrap();
    let again = fixture.run(&["init"]);
    assert!(again.code == 1 && again.err.contains("is there already and stays as it is"), "{}", again.err);
    assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\n");
}

#[test]
fn completions_and_man_pages_name_every_command() {
    let fixture = Fixture::bare();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = fixture.run(&["completions", shell]);
        assert_eq!(said.code, 0, "{}", said.err);
        for word in ["consumers", "serve", "--timeout"] {
            let bare = word.trim_start_matches('-');
            assert!(said.out.contains(bare), "{shell}: {word}");
        }
    }
    assert_eq!(fixture.run(&["completions", "tcsh"]).code, 2);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = fixture.run(&["completions", shell, "--program", "entraclaw-wait"]);
        assert!(said.code == 0 && said.out.contains("entraclaw-wait"), "{shell}: {}", said.err);
        assert!(said.out.contains("consumer") && !said.out.contains("doctor"), "{shell}: {}", said.out);
    }
    let pages = fixture.folder.path().join("man/man1");
    let said = fixture.run(&["man", pages.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{}", said.err);
    let page = fs::read_to_string(pages.join("entraclaw-wait.1")).unwrap();
    let synopsis = page.split(".SH SYNOPSIS").nth(1).unwrap().split(".SH").next().unwrap();
    assert!(page.contains(".TH entraclaw\\-wait 1") || page.contains(".TH entraclaw-wait 1"), "{page}");
    assert!(synopsis.contains("entraclaw\\-wait") && !synopsis.contains("entraclaw wait"), "{synopsis}");
    assert!(
        page.contains("It can do nothing else") && page.contains("`entraclaw wait` is the same"),
        "{page}"
    );
    let whole = fs::read_to_string(pages.join("entraclaw.1")).unwrap();
    assert!(whole.contains("entraclaw\\-wait(1)"), "{whole}");
    assert!(pages.join("entraclaw.1").exists() && pages.join("entraclaw-consumers-remove.1").exists());
    let file = fixture.folder.path().join("a-file");
    fs::write(&file, "").unwrap();
    let said = fixture.run(&["man", file.to_str().unwrap()]);
    assert!(said.code == 1 && said.err.contains("name a folder that you can write"), "{}", said.err);
}

#[test]
fn a_forgotten_person_is_on_no_list() {
    let fixture = Fixture::new();
    let person = format!("{TENANT}/{ALICE}");
    for list in ["allow", "deny"] {
        assert_eq!(fixture.run(&[list, &person]).code, 0);
        let said = fixture.run(&["forget", &person]);
        assert!(said.code == 0 && said.out.starts_with("forgotten: "), "{}{}", said.out, said.err);
        let lists = fixture.run(&["allow", "--list"]).out;
        assert!(!lists.contains(ALICE), "{lists}");
    }
    let said = fixture.run(&["forget", &person]);
    assert!(said.code == 1 && said.err.contains("is on no list of the policy"), "{}", said.err);
}

#[test]
fn allowing_a_mail_address_while_mail_is_off_gives_a_note() {
    let fixture = Fixture::new();
    let said = fixture.run(&["allow", "alice@contoso.com"]);
    assert!(said.code == 0 && said.out.contains("note: mail is switched off"), "{}", said.out);
    let fixture = Fixture::new().config("[mail]\nenabled = true\n");
    let said = fixture.run(&["allow", "alice@contoso.com"]);
    assert!(said.code == 0 && !said.out.contains("note:"), "{}", said.out);
}
