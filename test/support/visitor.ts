// A minimal browser for a real server: keeps cookies, follows no redirects, sends one HTTP request per call.
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'

/** One request. */
export interface Outgoing {
  readonly method?: string
  readonly form?: Readonly<Record<string, string>>
  /** A body of JSON, in place of a form. */
  readonly json?: unknown
  /** `client_id:secret` in a Basic header. */
  readonly basic?: readonly [clientId: string, secret: string]
  readonly bearer?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The connections that may be used; a fresh one unless given. */
  readonly agent?: Agent
  /** How long to wait for the whole answer; without it, for as long as it takes. */
  readonly patienceMs?: number
}

/** One answer, read to its end. */
export interface Incoming {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON. */
  json(): Record<string, unknown>
}

/** Sends one request; rejects when the connection ends before the answer does. */
export function send(url: string, outgoing: Outgoing = {}): Promise<Incoming> {
  const { form, json, basic, bearer, agent = new Agent(), patienceMs } = outgoing
  const text = json === undefined ? undefined : JSON.stringify(json)
  const body = form === undefined ? text : new URLSearchParams(form).toString()
  const headers: Record<string, string> = { ...outgoing.headers }
  if (form !== undefined) headers['content-type'] = 'application/x-www-form-urlencoded'
  else if (text !== undefined) headers['content-type'] = 'application/json'
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body))
  if (basic) headers['authorization'] = `Basic ${btoa(basic.map(encodeURIComponent).join(':'))}`
  if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`
  const method = outgoing.method ?? (body === undefined ? 'GET' : 'POST')
  return new Promise((resolve, reject) => {
    const signal = patienceMs === undefined ? undefined : AbortSignal.timeout(patienceMs)
    const sent = httpRequest(url, { method, headers, agent, family: 4, ...(signal && { signal }) }, response => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(parts).toString()
        const { statusCode = 0, headers } = response
        resolve({ status: statusCode, headers, text, json: () => JSON.parse(text) })
      })
    })
    sent.on('error', reject).end(body)
  })
}

/** A browser. */
export interface Visitor {
  readonly cookies: Map<string, string>
  /** Requests a path below the base URL, with the cookies, and keeps those that come back. */
  send(path: string, outgoing?: Outgoing): Promise<Incoming>
  /** Signs in by the form; throws when that is refused. */
  signIn(userName: string, password: string): Promise<void>
  /** Whether a user is signed in, by the home page. */
  isSignedIn(): Promise<boolean>
  /** Sends an authorization request; returns the redirect target, or undefined for a page. */
  authorize(query: Readonly<Record<string, string>>): Promise<URL | undefined>
  /** Approves everything on the approval page of the last `authorize`; returns the redirect target. */
  approve(): Promise<URL>
}

/** Opens a browser without cookies; `agent` decides on its connections, `deliver` on where and how a request is sent. */
export function visit(baseUrl: string, agent: Agent = new Agent(), deliver = send): Visitor {
  const cookies = new Map<string, string>()
  let shown = ''
  const self: Visitor = {
    cookies,
    async send(path, outgoing = {}) {
      const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
      const answer = await deliver(baseUrl + path, {
        agent,
        ...outgoing,
        headers: { ...(cookie !== '' && { cookie }), ...outgoing.headers },
      })
      for (const line of answer.headers['set-cookie'] ?? []) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (value === '') cookies.delete(name)
        else cookies.set(name, value)
      }
      return answer
    },
    async signIn(username, password) {
      const page = await self.send('/login')
      const answer = await self.send('/login.do', { form: { ...fieldsOf(page.text), username, password } })
      const target = answer.headers.location ?? ''
      if (answer.status !== 302 || target.includes('error=')) throw new Error(`not signed in: ${target}${answer.text}`)
    },
    async isSignedIn() {
      return (await self.send('/')).status === 200
    },
    async authorize(query) {
      const answer = await self.send(`/oauth/authorize?${new URLSearchParams(query).toString()}`)
      shown = answer.text
      return answer.headers.location === undefined ? undefined : new URL(answer.headers.location)
    },
    async approve() {
      const form = { ...fieldsOf(shown), user_oauth_approval: 'true' }
      const answer = await self.send('/oauth/authorize', { form })
      if (answer.headers.location === undefined) throw new Error(`not approved: ${answer.status} ${answer.text}`)
      return new URL(answer.headers.location)
    },
  }
  return self
}

/** The hidden fields and ticked boxes of a page's main form. */
export function fieldsOf(page: string): Record<string, string> {
  const main = page.slice(page.indexOf('<main'))
  const inputs = main.match(/<input [^>]*>/g) ?? []
  return Object.fromEntries(
    inputs
      .filter(input => / type="hidden"| checked/.test(input))
      .map(input => [attribute(input, 'name'), attribute(input, 'value')]),
  )
}

function attribute(tag: string, name: string): string {
  const text = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<')
}
