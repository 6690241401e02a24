// What every mail shares: one column with the site's name, a few sentences, at most one button, and the same as plain text.
// Nothing is fetched when it is opened, and nothing in it can be changed by whoever caused it to be sent.
import { type Html, html } from '../../base/html.ts'
import { isolated, plain } from '../foreign.ts'
import type { Texts } from '../texts/texts.ts'

/** What surrounds the content of a mail. */
export interface MailFrame {
  readonly texts: Texts
  /** Who writes: the company or the zone. */
  readonly site: string
}

/** The content of one mail. */
export interface MailContent {
  readonly subject: string
  readonly heading: string
  /** Sentences above the button. */
  readonly lead: readonly string[]
  readonly button?: { readonly text: string; readonly url: string }
  /** Sentences below. */
  readonly notes: readonly string[]
}

/** A mail as its reader sees it. */
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
      html`<h1 style="font-size:20px;line-height:28px;margin:0 0 16px">${plain(heading, 200)}</h1>
${lead.map(paragraph)}${
  button &&
  html`<p style="margin:24px 0"><a href="${button.url}" style="background:#14523f;border-radius:8px;color:#ffffff;display:inline-block;font-weight:600;padding:12px 20px;text-decoration:none">${button.text}</a></p>
`
}${notes.map(paragraph)}<p style="color:#55625c;margin:24px 0 0">${isolated(name)}</p>
`,
    ).toString(),
  }
}

const paragraph = (sentence: string): Html => html`<p style="margin:0 0 12px">${plain(sentence, 2000)}</p>\n`

const document = ({ tag }: Texts, content: Html): Html => html`<!doctype html>
<html lang="${tag}" dir="ltr">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"></head>
<body style="font:16px/24px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;margin:0;padding:24px">
<div style="margin:0 auto;max-width:560px">
${content}</div>
</body>
</html>
`
