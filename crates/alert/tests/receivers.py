"""Receivers that the program did not write: http.server for webhooks, aiosmtpd for mail. Each prints its port, then a
line of JSON for whatever it is given, before it answers."""
import json
import sys
import threading


SAYING = threading.Lock()


def say(what):
    with SAYING:
        print(json.dumps(what), flush=True)


def webhook():
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    answers = [int(code) for code in sys.argv[2:]]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen = {name.lower(): value for name, value in self.headers.items()}
            say({"path": self.path, "headers": seen, "body": body.decode()})
            self.send_response(answers.pop(0) if answers else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    say(server.server_address[1])
    server.serve_forever()


def mail():
    import email
    import email.policy
    import ssl
    import time
    from aiosmtpd.controller import Controller
    from aiosmtpd.smtp import AuthResult

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])

    class Handler:
        async def handle_RCPT(self, server, session, envelope, address, options):
            if address.startswith("nobody@"):
                return "550 no such user"
            envelope.rcpt_tos.append(address)
            return "250 OK"

        async def handle_DATA(self, server, session, envelope):
            letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
            parts = [part.get_content() for part in letter.iter_parts()]
            parts = [part if isinstance(part, str) else part.decode() for part in parts]
            say({
                "from": envelope.mail_from, "to": envelope.rcpt_tos, "subject": letter["Subject"],
                "id": letter["Message-ID"], "date": letter["Date"].datetime.isoformat(), "parts": parts,
                "defects": len(letter.defects), "tls": session.ssl is not None,
                "user": session.auth_data and session.auth_data.login.decode(),
            })
            return "250 OK"

    def known(server, session, envelope, mechanism, data):
        return AuthResult(success=data.login == b"alert" and data.password == b"s3cret", auth_data=data)

    controller = Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[4]), tls_context=context,
                            require_starttls=True, authenticator=known, auth_required=True)
    controller.start()
    say(controller.server.sockets[0].getsockname()[1])
    while True:
        time.sleep(3600)


def letters():
    """Mail without TLS, as a server on the same machine takes it."""
    import email
    import email.policy
    import time
    from aiosmtpd.controller import Controller

    class Handler:
        async def handle_DATA(self, server, session, envelope):
            letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
            parts = [[part.get_content_type(), len(part.get_payload(decode=True) or b"")] for part in letter.walk()]
            texts = [part.get_content() for part in letter.walk() if part.get_content_maintype() == "text"]
            say({"to": envelope.rcpt_tos, "subject": letter["Subject"], "id": letter["Message-ID"], "texts": texts,
                 "parts": parts, "defects": sum(len(part.defects) for part in letter.walk())})
            return "250 OK"

    controller = Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[2]))
    controller.start()
    say(controller.server.sockets[0].getsockname()[1])
    while True:
        time.sleep(3600)


def raw():
    """Mail without TLS; octets as they came, in base64."""
    import base64
    import time
    from aiosmtpd.controller import Controller

    class Handler:
        async def handle_DATA(self, server, session, envelope):
            say({"to": envelope.rcpt_tos, "octets": base64.b64encode(envelope.original_content).decode()})
            return "250 OK"

    controller = Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[2]))
    controller.start()
    say(controller.server.sockets[0].getsockname()[1])
    while True:
        time.sleep(3600)


{"webhook": webhook, "mail": mail, "letters": letters, "raw": raw}[sys.argv[1]]()
