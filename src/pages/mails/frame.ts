// The layout of every mail: one column with the site's name, a few sentences, at most one button, and the same as plain text.
// Opening it fetches nothing, and the caller that caused it to be sent cannot change its content.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import { isolated, plain } from '../parts/foreign.ts'
import type { Texts } from '../texts/texts.ts'

/** The context of a mail. */
export interface MailFrame {
  readonly texts: Texts
  /** The name of the sender: the company or the zone. */
  readonly site: string
}

interface MailContent {
  readonly subject: string
  readonly heading: string
  /** Sentences above the button. */
  readonly lead: readonly string[]
  readonly button?: { readonly text: string; readonly url: string }
  /** Sentences below. */
  readonly notes: readonly string[]
}

/** The subject and content of a mail. */
export interface MailBody {
  readonly from: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** A complete mail. */
export function mailIn({ texts, site }: MailFrame, { subject, heading, lead, button, notes }: MailContent): MailBody {
  const name = plain(site, 80)
  const sentences = (given: readonly string[]): readonly string[] => given.map(each => plain(each, 2000))
  const paragraphs = [
    plain(heading, 200),
    ...sentences(lead),
    ...(button ? [`${button.text}:\n${button.url}`] : []),
    ...sentences(notes),
    name,
  ]
  return {
    from: name,
    subject: plain(subject, 200),
    text: `${paragraphs.join('\n\n')}\n`,
    html: document(
      texts,
      plain(subject, 200),
      html`<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${plain(lead[0] ?? heading, 150)}</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td align="center" style="padding:24px 12px">
<!--[if mso]><table role="presentation" width="560" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:#ffffff;border:1px solid #d9e0dc;border-radius:12px;max-width:560px"><tr><td class="text" align="left" style="color:#17211d;font:16px/24px system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;overflow-wrap:anywhere;padding:28px 24px;word-break:break-word">
<p class="quiet" style="color:#55625c;font-weight:600;margin:0 0 20px">${isolated(name)}</p>
<h1 style="font-size:22px;line-height:30px;margin:0 0 16px">${plain(heading, 200)}</h1>
${lead.map(paragraph)}${
  button &&
  html`<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:24px 0 12px"><tr><td class="button" bgcolor="#14523f" style="background:#14523f;border-radius:8px"><a href="${button.url}" style="color:#ffffff;display:inline-block;font-weight:600;padding:12px 20px;text-decoration:none">${button.text}</a></td></tr></table>
<p class="quiet" style="color:#55625c;font-size:13px;line-height:20px;margin:0 0 20px"><a class="quiet" href="${button.url}" style="color:#55625c">${button.url}</a></p>
`
}${notes.map(paragraph)}</td></tr></table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
`,
    ).toString(),
  }
}

const paragraph = (sentence: string): Html => html`<p style="margin:0 0 12px">${plain(sentence, 2000)}</p>\n`

// Tables and attributes are for Outlook, which supports neither max-width nor padding of links; classes are for dark mode, which
// clients that drop styles do not have.
const document = ({ tag }: Texts, title: string, content: Html): Html => html`<!doctype html>
<html lang="${tag}" dir="ltr">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>${title}</title>
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (prefers-color-scheme: dark) {
  body { background: #101613 !important; }
  .card { background: #18211d !important; border-color: #33413a !important; }
  .text { color: #e8eeeb !important; }
  .quiet { color: #a9b7b0 !important; }
  .button { background: #1d6b53 !important; }
}
</style>
</head>
<body style="background:#f3f6f4;margin:0;padding:0">
${content}</body>
</html>
`
