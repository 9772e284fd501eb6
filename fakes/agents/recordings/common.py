"""What the situations of all agents share."""
import signal

ASK = [{"text": "ANSWER-1"}]
SLOW = [{"text": "FIRST-HALF|SECOND-HALF", "slow": 40}]
SLEEP = [{"shell": "timeout 47 tail -f /dev/null", "long": True}, {"text": "ANSWER-2"}]
UUID = "0cb916db-26aa-40f2-86b5-1ba81b225fd2"
DEEDS = {
    "shell": [{"shell": "touch shell-inside && echo ran"}, {"text": "ANSWER-2"}],
    "shell-outside": [{"shell": "touch @BESIDE@/shell-outside && echo ran"}, {"text": "ANSWER-2"}],
    "shell-hidden": [{"shell": "d=$(dirname \"$PWD\"); touch \"$d/be\"\"side/shell-hidden\" && echo ran"}, {"text": "ANSWER-2"}],
    "shell-read": [{"shell": "pwd && ls"}, {"text": "ANSWER-2"}],
    "write-inside": [{"write": "@PROJECT@/write-inside"}, {"text": "ANSWER-2"}],
    "write-outside": [{"write": "@BESIDE@/write-outside"}, {"text": "ANSWER-2"}],
    "write-temp": [{"write": "@TMP@/write-temp"}, {"text": "ANSWER-2"}],
}
STATUS = ((401, "bad credentials"), (402, "You have no quota"), (403, "forbidden"), (429, "rate limited"), (500, "server broke"))
SIGNALS = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}


def fails(status, message, **more):
    return [dict({"status": status, "message": message}, **more)]


class Table(dict):
    """Situations by name; `add` fills in what is usual."""

    def __init__(self, env):
        super().__init__()
        self.env = env

    def add(self, name, args, script=None, **more):
        self[name] = dict({"args": args, "script": script or ASK, "env": self.env}, **more)

    def deeds(self, mode, args, **more):
        for kind, script in DEEDS.items():
            self.add("%s-%s" % (mode, kind), args, script, **more)

    def errors(self, plain, machine, model_message):
        """The same errors in the plain and in the machine form."""
        for name, args in (("", plain), ("-json", machine)):
            self.add("model-unknown-404" + name, args, fails(404, model_message, code="model_not_found"))
            for status, message in STATUS:
                self.add("status-%d%s" % (status, name), args, fails(status, message))
            self.add("provider-down" + name, args, port=9)

    def signals(self, plain, machine, shell=None, prefix="", **more):
        for name, number in SIGNALS.items():
            self.add(prefix + "mid-answer-" + name, plain, SLOW, sig=number, **more)
            self.add(prefix + "mid-answer-json-" + name, machine, SLOW, sig=number, **more)
            self.add(prefix + "mid-shell-" + name, shell or machine, SLEEP, sig=number, sig_after=3, **more)
            self.add(prefix + "mid-answer-group-" + name, machine, SLOW, sig=number, group=True, **more)
            self.add(prefix + "mid-shell-group-" + name, shell or machine, SLEEP, sig=number, sig_after=3, group=True, **more)
        self.add(prefix + "mid-shell-SIGKILL", shell or machine, SLEEP, sig=signal.SIGKILL, sig_after=3, **more)
        self.add(prefix + "mid-shell-group-SIGKILL", shell or machine, SLEEP, sig=signal.SIGKILL, sig_after=3, group=True, **more)
