// A SAML identity provider for browser tests: the one of saml-idp.ts behind a web server on 127.0.0.1, which is another site
// than `localhost`, so that cookies behave as between two companies. It takes requests by redirect or POST, shows a form with
// a user name, posts its answer back by a page, and takes, answers and begins logout.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { inflateRawSync } from 'node:zlib'
import type { Clock } from '../../../src/base/clock.ts'
import type { KnownServiceProvider, SamlIdp } from './saml-idp.ts'
import type { LogoutParts, ResponseParts } from './saml-parts.ts'
import { base64Of, escapeXml, SAML } from './saml-xml.ts'
import { createSamlIdp } from './saml-idp.ts'

/** A message that the provider received. */
export interface SamlMessageReceived {
  readonly kind: 'SAMLRequest' | 'SAMLResponse'
  readonly binding: 'redirect' | 'post'
  readonly xml: string
  readonly id: string
  readonly relayState: string
  /** The raw query, over which the redirect binding signs. */
  readonly query: string
}

/** A running provider. */
export interface SamlIdpServer extends SamlIdp {
  readonly url: string
  /** Its metadata with its endpoints. */
  readonly metadataHere: (bindings?: readonly string[]) => string
  /** The received messages. */
  readonly received: readonly SamlMessageReceived[]
  /** Parts of the next answers. */
  parts: ResponseParts
  /** The URL that starts an IdP-initiated sign-in. */
  readonly startUrl: string
  /** The URL that starts an IdP-initiated logout of the user. */
  logoutUrl(parts: LogoutParts): string
  stop(): Promise<void>
}

const page = (content: string): string => `<!doctype html><html lang="en"><title>Provider</title>${content}</html>`

/** A page that posts fields as soon as it is shown. */
const posting = (action: string, fields: Readonly<Record<string, string>>): string =>
  page(
    `<form method="post" action="${escapeXml(action)}">${Object.entries(fields)
      .map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeXml(value)}">`)
      .join('')}</form><script>document.forms[0].submit()</script>`,
  )

const attributeOf = (xml: string, name: string): string => new RegExp(` ${name}="([^"]*)"`).exec(xml)?.[1] ?? ''

/** What came by redirect or POST; undefined if there is no message. */
function messageOf(query: string, form: URLSearchParams | undefined): SamlMessageReceived | undefined {
  const fields = form ?? new URLSearchParams(query)
  const kind = fields.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse'
  const text = fields.get(kind)
  if (text === null) return undefined
  const bytes = Buffer.from(text, 'base64')
  const xml = (form ? bytes : inflateRawSync(bytes)).toString()
  const binding = form ? 'post' : 'redirect'
  return { kind, binding, xml, id: attributeOf(xml, 'ID'), relayState: fields.get('RelayState') ?? '', query }
}

/** Starts one on a free port; `to` is the service provider its users go to, `logoutAt` the URL of its single logout. */
export async function startSamlIdp({
  clock,
  to,
  logoutAt = to.recipient.replace('/saml/SSO/', '/saml/SingleLogout/'),
}: {
  readonly clock: Clock
  readonly to: KnownServiceProvider
  readonly logoutAt?: string
}): Promise<SamlIdpServer> {
  const received: SamlMessageReceived[] = []
  const logouts: LogoutParts[] = []

  const byRedirect = (kind: 'SAMLRequest' | 'SAMLResponse', xml: string, relayState?: string): string =>
    `${logoutAt}?${idp.redirectQuery(kind, xml, { ...(relayState && { relayState }) })}`

  async function answer(
    { pathname, search, searchParams }: URL,
    form: URLSearchParams | undefined,
  ): Promise<{ readonly to: string } | { readonly page: string }> {
    if (pathname === '/sign-in' && form) {
      const inResponseTo = form.get('request') || null
      const nameId = form.get('username') ?? ''
      const xml = await idp.response({ nameId, inResponseTo, ...idp.parts })
      return {
        page: posting(to.recipient, { SAMLResponse: base64Of(xml), RelayState: form.get('relay') ?? '' }),
      }
    }
    if (pathname === '/logout') {
      const parts = logouts[Number(searchParams.get('number'))]
      return { to: byRedirect('SAMLRequest', idp.logoutRequest({ destination: logoutAt, ...parts })) }
    }
    const message = messageOf(search.slice(1), form)
    if (message) received.push(message)
    if (pathname === '/sso') {
      return {
        page: page(
          `<form method="post" action="/sign-in"><label>User <input name="username" autofocus></label><input type="hidden" name="request" value="${escapeXml(message?.id ?? '')}"><input type="hidden" name="relay" value="${escapeXml(message?.relayState ?? '')}"><button>Sign in</button></form>`,
        ),
      }
    }
    if (pathname === '/slo' && message?.kind === 'SAMLRequest') {
      const xml = idp.logoutResponse({ destination: logoutAt, inResponseTo: message.id })
      return { to: byRedirect('SAMLResponse', xml, message.relayState) }
    }
    return { page: page('<p>Signed out of the provider.</p>') }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const form = request.method === 'POST' ? new URLSearchParams(Buffer.concat(chunks).toString()) : undefined
      void answer(new URL(request.url ?? '', url), form).then(
        reply =>
          'to' in reply
            ? response.writeHead(302, { location: reply.to }).end()
            : response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(reply.page),
        error => response.writeHead(500).end(String(error)),
      )
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const url = `http://127.0.0.1:${address.port}`
  const idp: SamlIdpServer = {
    ...createSamlIdp({ clock, to, entityId: `${url}/metadata` }),
    url,
    metadataHere: (bindings = [SAML.redirect, SAML.post]) =>
      idp.metadata({ sso: `${url}/sso`, slo: `${url}/slo`, bindings }),
    received,
    parts: {},
    startUrl: `${url}/sso`,
    logoutUrl: parts => `${url}/logout?number=${logouts.push(parts) - 1}`,
    async stop() {
      server.closeAllConnections()
      await new Promise<void>((resolve, reject) => server.close(error => (error ? reject(error) : resolve())))
    },
  }
  return idp
}

/** The record of the provider, for the API or the configuration file. */
export const samlRecordOf = (
  idp: SamlIdp,
  originKey: string,
  {
    metadata = idp.metadata(),
    config = {},
    ...more
  }: { readonly metadata?: string; readonly config?: object; readonly active?: boolean } = {},
) => ({
  originKey,
  type: 'saml',
  name: originKey,
  config: { metaDataLocation: metadata, showSamlLink: true, ...config },
  ...more,
})
