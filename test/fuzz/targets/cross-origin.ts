import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { corsProblems } from '../../../src/model/zones/cors-policy.ts'
import type { Urls } from '../../../src/model/urls.ts'
import type { CorsConfiguration } from '../../../src/model/zones/zone.ts'
import { createCors } from '../../../src/web/cors.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target } from '../target.ts'

/** Whether an entry matches in full, by JavaScript's own engine, for patterns that mean the same in both. */
const COMMON = /^(?:[a-z0-9/:_-]|\\[./]|\.\*|\.|\[a-z\]\+|\(a\|b\)|\^|\$)*$/

function matchesInFull(pattern: string, text: string): boolean | undefined {
  // JavaScript's engine tries every way, so it gets few repetitions, and its dot means other ends of lines.
  const isQuick = pattern.split(/[*+|]/).length < 5
  return isQuick && COMMON.test(pattern) && /^[\x20-\x7e]*$/.test(text)
    ? new RegExp(`^(?:${pattern})$`, 'u').test(text)
    : undefined
}

/** Whether an entry allows the text; undefined if the independent check does not support an entry. */
function isAllowed(
  texts: readonly string[] | undefined,
  patterns: readonly string[] | undefined,
  text: string,
): boolean | undefined {
  if (texts === undefined && (patterns ?? []).length === 0) return true
  const named = [...(texts ?? []), ...(patterns ?? [])]
  const answers = new Set(named.map(pattern => matchesInFull(pattern, text)))
  if (answers.has(true)) return true
  return answers.has(undefined) ? undefined : false
}

const ORIGINS = [
  'https://app.example',
  'https://app.example:8443',
  'http://localhost:3000',
  'https://a.app.example',
  'https://appxexample',
  'https://evil.example',
  'https://app.example.evil.example',
  'https://[::1]:1',
  'HTTPS://APP.EXAMPLE',
  'null',
  'file://',
  'com.example.app://cb',
  '*',
]
const PATTERNS = [
  'https://app\\.example',
  '^https://app\\.example$',
  'https://[a-z]+\\.app\\.example',
  'https://app.example',
  'http://localhost:.*',
  'https://.*',
  '.*',
  '.*\\.example',
  '(a|b)',
  'null',
  '*',
  '^https://app',
  'app\\.example$',
  '(?=a)',
  '[',
]
const PIECES = [...ORIGINS, ...PATTERNS, '.', ':', '/', '@', '\\.', '.*', '^', '$', '|', '(?i)', '\\E', '\\z', 'evil']

const lists = fc.option(
  fc.array(
    fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...PATTERNS) }, changed(fc.constantFrom(...PATTERNS), PIECES)),
    {
      maxLength: 3,
    },
  ),
  { nil: undefined },
)
const paths = fc.option(fc.array(fc.constantFrom('.*', '/info', '^/oauth/.*', '/oauth/token'), { maxLength: 2 }), {
  nil: undefined,
})
const names = fc.array(
  fc.oneof(fc.constantFrom('Accept', 'Authorization', 'X-Requested-With', 'X-Own'), jumble(['A', ','], 3)),
  { maxLength: 3 },
)
const methods = fc.array(fc.oneof(fc.constantFrom('GET', 'post', 'DELETE', '*'), jumble(['GET', '\r\nX: y'], 2)), {
  maxLength: 3,
})
const near = (texts: readonly string[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...texts) }, changed(fc.constantFrom(...texts), PIECES), anyText)

const inputs = fc.record({
  origins: lists,
  originPatterns: lists,
  uris: paths,
  headers: fc.option(names, { nil: undefined }),
  methods: fc.option(methods, { nil: undefined }),
  credentials: fc.boolean(),
  origin: near(ORIGINS),
  path: fc.constantFrom('/info', '/info?x=/oauth/token', '/oauth/token', '/oauth/tokens', '/oauth/authorize', '/'),
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'),
  asked: near(['GET', 'POST', 'DELETE', 'get']),
  askedHeaders: near(['accept', 'X-Requested-With', 'authorization, x-own', 'evil']),
  isXhr: fc.boolean(),
})
type Input = typeof inputs extends fc.Arbitrary<infer T> ? T : never

interface Answer {
  readonly headers: ReadonlyMap<string, string>
  readonly status: number | undefined
}

/** The hook's response, with the members of request and reply that it uses. */
async function answerTo(input: Input, configuration: CorsConfiguration): Promise<Answer> {
  const headers = new Map<string, string>()
  let status: number | undefined
  let finish = (): void => {}
  const ended = new Promise<void>(resolve => (finish = resolve))
  const reply = {
    header: (name: string, value: string) => (headers.set(name.toLowerCase(), value), reply),
    headers: (all: Readonly<Record<string, string>>) => {
      for (const [name, value] of Object.entries(all)) headers.set(name.toLowerCase(), value)
      return reply
    },
    removeHeader: () => reply,
    type: () => reply,
    code: (code: number) => ((status = code), reply),
    status: (code: number) => ((status = code), reply),
    send: () => (finish(), reply),
  }
  const request = {
    method: input.method,
    url: input.path,
    routeOptions: { config: { audience: 'api' } },
    headers: {
      host: 'id.example',
      origin: input.origin,
      ...(input.isXhr && { 'x-requested-with': 'XMLHttpRequest' }),
      'access-control-request-method': input.asked,
      'access-control-request-headers': input.askedHeaders,
    },
  }
  const cors = createCors({
    system: { policy: { xhrConfiguration: configuration, defaultConfiguration: configuration }, enforced: true },
    resolveZone: () => Promise.resolve(),
    urls: { isHttps: true, basePath: '' } as Urls, // the members that are used
    behaviour: { unsharedAuthorization: true },
    ownAnswerTo: () => undefined,
  })
  cors.onRequest(request as unknown as FastifyRequest, reply as unknown as FastifyReply, finish)
  await ended
  return { headers, status }
}

/** Policies of zones and foreign origins: only an entry that matches in full allows one. */
export const crossOrigin = target<Input>({
  name: 'cross-origin',
  inputs,
  async check(input) {
    const { origins, originPatterns, uris, credentials, origin } = input
    const configuration: CorsConfiguration = {
      ...(origins && { allowedOrigins: origins }),
      ...(originPatterns && { allowedOriginPatterns: originPatterns }),
      ...(uris && { allowedUris: uris }),
      ...(input.headers && { allowedHeaders: input.headers }),
      ...(input.methods && { allowedMethods: input.methods }),
      allowedCredentials: credentials,
    }
    assert.ok(Array.isArray(corsProblems({ xhrConfiguration: configuration })))
    const { headers, status } = await answerTo(input, configuration)
    for (const value of headers.values()) assert.match(value, /^[\x20-\x7e]*$/, 'a value that breaks the header')
    const shared = headers.get('access-control-allow-origin')
    const withCookies = headers.get('access-control-allow-credentials')
    const place = isAllowed(origins, originPatterns, origin)
    const [path = ''] = input.path.split('?', 1)
    if (path === '/oauth/authorize' && input.method !== 'OPTIONS') {
      assert.equal(shared ?? status, undefined)
      return 'refused'
    }
    if (shared === undefined) {
      assert.equal(withCookies, undefined)
      if (origin === '') return 'refused'
      assert.ok(status === 403 || origin.endsWith('://id.example'), 'neither shared nor refused')
      return 'refused'
    }
    assert.ok(shared === '*' || shared === origin, 'shared with another origin')
    assert.equal(withCookies, credentials ? 'true' : undefined)
    if (credentials) assert.notEqual(shared, '*', 'cookies for every origin')
    if (shared !== '*')
      assert.ok(/^null$/i.test(origin) || /^[a-z][a-z0-9+.-]*:\/\/[^/@?#\s]+$/i.test(shared), 'no origin')
    assert.notEqual(place, false, 'no entry matches the origin')
    assert.notEqual(isAllowed(uris, undefined, path), false, 'no entry matches the path')
    if (input.method === 'OPTIONS' && status === 200) {
      const named = input.headers ?? ['Accept', 'Authorization', 'Content-Type']
      const allowed = new Set(named.map(name => name.toLowerCase()))
      for (const name of input.askedHeaders.toLowerCase().split(',')) {
        assert.ok(name.trim() === '' || allowed.has(name.trim()), 'a header that no entry names')
      }
      const verbs = new Set((input.methods ?? ['GET']).map(name => name.toUpperCase()))
      assert.ok(verbs.has(input.asked) || (input.asked === 'HEAD' && verbs.has('GET')))
    }
    return 'read'
  },
})
