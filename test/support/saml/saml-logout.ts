// Shared by tests of SAML logout: the record of a provider, sign-in, and messages in redirects and forms.
import assert from 'node:assert/strict'
import { inflateRawSync } from 'node:zlib'
import { hiddenFields, unescaped } from '../forms.ts'
import { base64Of } from './saml-xml.ts'
import type { ResponseParts } from './saml-parts.ts'
import type { SamlIdp } from './saml-idp.ts'
import type { Browser, TestAnswer } from '../server.ts'

/** The record of a provider. */
export const samlRecord = (
  metadata: string,
  originKey: string,
  config: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> => ({
  originKey,
  type: 'saml',
  name: originKey,
  config: { metaDataLocation: metadata, ...config },
})

/** A message to the provider, by redirect or form. */
export interface CarriedMessage {
  readonly binding: 'redirect' | 'post'
  /** The URL without the parameters of the binding. */
  readonly to: string
  readonly xml: string
  readonly relayState: string | undefined
  /** The query of the redirect binding, as it was sent. */
  readonly query: string
}

/** Reads the message to a provider in a response. */
export function messageIn(answer: TestAnswer, kind: 'SAMLRequest' | 'SAMLResponse'): CarriedMessage {
  if (answer.status === 302) {
    const { origin, pathname, searchParams, search } = answer.location()
    const packed = Buffer.from(searchParams.get(kind) ?? assert.fail(), 'base64')
    const relayState = searchParams.get('RelayState') ?? undefined
    const xml = inflateRawSync(packed).toString()
    return { binding: 'redirect', to: origin + pathname, xml, relayState, query: search.slice(1) }
  }
  assert.equal(answer.status, 200, answer.text)
  const to = unescaped(/<form id="form_post" action="([^"]*)"/.exec(answer.text)?.[1] ?? assert.fail(answer.text))
  const { [kind]: packed, RelayState: relayState } = hiddenFields(answer.text)
  return { binding: 'post', to, xml: Buffer.from(packed ?? assert.fail(), 'base64').toString(), relayState, query: '' }
}

/** The value of the first attribute of this name. */
export const attributeIn = (xml: string, name: string): string | undefined =>
  unescapedXml(new RegExp(`\\s${name}="([^"]*)"`).exec(xml)?.[1])

const unescapedXml = (text: string | undefined): string | undefined =>
  text?.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))

/** Signs in at the provider as the user of the parts; returns the last response. */
export async function signInSaml(
  browser: Browser,
  idp: SamlIdp,
  { origin, parts = {} }: { readonly origin: string; readonly parts?: ResponseParts },
): Promise<TestAnswer> {
  const request = messageIn(await browser.send(`/login/external/${origin}`), 'SAMLRequest')
  const consumer = attributeIn(request.xml, 'AssertionConsumerServiceURL') ?? assert.fail(request.xml)
  const inResponseTo = attributeIn(request.xml, 'ID') ?? assert.fail(request.xml)
  const response = await idp.response({ recipient: consumer, destination: consumer, inResponseTo, ...parts })
  const form = { SAMLResponse: base64Of(response), RelayState: request.relayState ?? '' }
  const { pathname } = new URL(consumer)
  const answer = await browser.send(pathname, { method: 'POST', form })
  if (answer.status !== 200 || !answer.text.includes('id="form_post"')) return answer
  return browser.send(pathname, { method: 'POST', form: hiddenFields(answer.text) })
}
