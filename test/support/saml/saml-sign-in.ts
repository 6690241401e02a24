// A server with SAML providers, and sign-ins at them: shared by tests of start URLs, the assertion consumer and pages.
import { inflateRawSync } from 'node:zlib'
import { authorizeBootstrap } from '../authorize.ts'
import type { TestClock } from '../clock.ts'
import { hiddenFields, unescaped } from '../forms.ts'
import { base64Of, SAML } from './saml-xml.ts'
import { createSamlIdp } from './saml-idp.ts'
import { samlTestKey } from './saml-signing.ts'
import type { ResponseParts } from './saml-parts.ts'
import type { SamlIdp } from './saml-idp.ts'
import type { Browser, TestAnswer, TestServer } from '../server.ts'

/** The server's base URL. */
export const BASE = 'http://localhost:8080'
/** Its assertion consumer, the default recipient of responses. */
export const CONSUMER = '/saml/SSO/alias/latchkey'

const key = samlTestKey()

/** The provider with this origin; they share a key pair, and differ by their entity ids. */
export const idpOf = (clock: TestClock, origin: string): SamlIdp =>
  createSamlIdp({
    clock,
    key,
    entityId: `https://${origin}.example/saml`,
    to: { entityId: 'latchkey', recipient: BASE + CONSUMER },
  })

/** The record of that provider. */
export const samlRecord = (
  clock: TestClock,
  originKey: string,
  config: Readonly<Record<string, unknown>> = {},
  bindings: readonly string[] = [SAML.redirect, SAML.post],
) => ({
  originKey,
  type: 'saml',
  name: originKey,
  config: {
    metaDataLocation: idpOf(clock, originKey).metadata({
      sso: `https://${originKey}.example/sso`,
      bindings,
    }),
    linkText: `Sign in with ${originKey}`,
    showSamlLink: true,
    attributeMappings: { email: 'mail', email_verified: 'verified' },
    ...config,
  },
})

const AUTO_CLIENT = {
  client_secret: 'secret',
  authorized_grant_types: ['authorization_code'],
  scope: ['openid'],
  redirect_uri: ['https://auto.example/cb'],
  autoapprove: true,
}

/** The default accounts, and providers that each differ in one setting. */
export const samlBootstrap = (clock: TestClock) => ({
  ...authorizeBootstrap,
  clients: [...authorizeBootstrap.clients, { ...AUTO_CLIENT, client_id: 'waitsonly', allowedproviders: ['waits'] }],
  identity_zones: authorizeBootstrap.identity_zones.map(zone =>
    zone.id === 'z1'
      ? { ...zone, bootstrap: { ...zone.bootstrap, identity_providers: [samlRecord(clock, 'corp')] } }
      : zone,
  ),
  identity_providers: [
    samlRecord(clock, 'corp', { emailDomain: ['corp.example'] }),
    samlRecord(clock, 'other'),
    samlRecord(clock, 'posts', {}, [SAML.post]),
    samlRecord(clock, 'closed', { addShadowUserOnLogin: false }),
    samlRecord(clock, 'hidden', { showSamlLink: false }),
    samlRecord(clock, 'begins', { allowIdpInitiated: true }),
    samlRecord(clock, 'waits', { allowIdpInitiated: false }),
    { ...samlRecord(clock, 'off'), active: false },
  ],
})

/** A request to a provider. */
export interface SentRequest {
  readonly url: URL
  readonly id: string
  readonly xml: string
  readonly relayState: string
}

/** The request in a redirect to a provider. */
export function requestIn(answer: TestAnswer): SentRequest {
  if (answer.status !== 302) throw new Error(`not sent away: ${answer.status} ${answer.text}`)
  const url = answer.location()
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
  return { url, id: / ID="([^"]+)"/.exec(xml)?.[1] ?? '', xml, relayState: url.searchParams.get('RelayState') ?? '' }
}

/** The request in a page that posts it to a provider. */
export function postedTo(answer: TestAnswer): {
  readonly action: string
  readonly xml: string
  readonly relayState: string
} {
  const action = unescaped(/<form id="form_post" action="([^"]+)"/.exec(answer.text)?.[1] ?? '')
  const { SAMLRequest: request = '', RelayState: relayState = '' } = hiddenFields(answer.text)
  return { action, xml: Buffer.from(request, 'base64').toString(), relayState }
}

/** The fields of a form of the POST binding. */
export const answerForm = (xml: string, relayState?: string): Record<string, string> => ({
  SAMLResponse: base64Of(xml),
  ...(relayState !== undefined && { RelayState: relayState }),
})

/** The only form of a page that posts by itself: its path, and its fields. */
export function postedOn(answer: TestAnswer): { readonly path: string; readonly form: Record<string, string> } {
  const action = unescaped(/<form id="form_post" action="([^"]+)"/.exec(answer.text)?.[1] ?? '')
  if (!action.startsWith(BASE)) throw new Error(`no page that posts: ${answer.status} ${answer.text}`)
  return { path: action.slice(BASE.length), form: hiddenFields(answer.text) }
}

/** Posts a response like the provider's page, without cookies, and then like the server's page, with them. */
export async function comeBack(
  server: TestServer,
  browser: Browser,
  form: Record<string, string>,
  path: string = CONSUMER,
): Promise<TestAnswer> {
  const first = await server.send(path, { form, headers: { origin: 'https://idp.example' } })
  if (first.status !== 200) return first
  const again = postedOn(first)
  return browser.send(again.path, { form: again.form, headers: { origin: BASE } })
}

/** Signs in at the provider in a browser; the answer to the last request. */
export async function signInAt(
  server: TestServer,
  browser: Browser,
  {
    origin = 'corp',
    start = `/login/external/${origin}`,
    ...parts
  }: ResponseParts & { origin?: string; start?: string } = {},
): Promise<TestAnswer> {
  const sent = requestIn(await browser.send(start))
  const xml = await idpOf(server.clock, origin).response({ inResponseTo: sent.id, ...parts })
  return comeBack(server, browser, answerForm(xml, sent.relayState))
}
