import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { MalformedInput } from '../../../src/web/requests/form.ts'
import { createHostCheck } from '../../../src/web/requests/host.ts'
import { createPrefixRemover, isOwnHost, subdomainOf } from '../../../src/web/zones/zone.ts'
import { anyText, changed, jumble } from '../changes.ts'
import { target, verdictOf } from '../target.ts'

const ROOTS = ['id.example', 'login.id.example']
const check = createHostCheck(true)
const removePrefix = createPrefixRemover(createUrls('https://id.example/base', behaviourOf('standard')))

function checked(host: string, url: string): void {
  // The server has removed the prefix of a zone by then.
  const raw = { rawHeaders: ['Accept', '*/*', 'Host', host], headers: { host }, url: removePrefix({ url }) }
  const reply = { headers: () => reply } as unknown as FastifyReply // what a refusal sets
  const request = {
    raw,
    originalUrl: url,
    headers: raw.headers,
    routeOptions: { config: {} },
  } as unknown as FastifyRequest
  check(request, reply, error => {
    if (error) throw error
  })
}

const hosts = fc.constantFrom(
  'id.example',
  'zone.id.example:443',
  'a.login.id.example',
  'localhost:8080',
  '[::1]:80',
  '10.0.0.1',
)
const targets = fc.constantFrom(
  '/base/login',
  '/base/z/zone/login?x=1',
  'https://id.example/base/z/zone/',
  '/base/z',
  '*',
)
const HOST_PIECES = [
  '.',
  ':',
  ':443',
  '@',
  '[',
  ']',
  '::1',
  'id.example',
  'evil.example',
  ',',
  '%00',
  '/',
  '#',
  '?',
  '..',
]
const URL_PIECES = [
  '/z/',
  '/z',
  '//',
  '/base',
  '/base/z/a/z/b',
  '%7a',
  '%2f',
  '/./',
  '/../',
  ';',
  'https://',
  'zone',
  '?',
  '#',
]

/**
 * The Host header, the request target and the zone that both name: the host that a URL parser reads, or a refusal; and the
 * path of no zone but the one whose prefix was taken off.
 */
export const host = target({
  name: 'host',
  inputs: fc.tuple(
    fc.oneof(changed(hosts, HOST_PIECES), hosts, anyText),
    fc.oneof(changed(targets, URL_PIECES), targets, jumble(URL_PIECES)),
  ),
  check([name, url]) {
    const path = removePrefix({ url })
    if (path !== url) {
      assert.ok(path.startsWith('/'), 'the rest is not a path')
      assert.ok(
        url.endsWith(path.replace(/^\/(?:(?:base|\.well-known\/[a-z-]+\/base)\/?)?/, '')),
        'the rest is not what was sent',
      )
    }
    return verdictOf(
      [MalformedInput],
      () => checked(name, url),
      () => {
        assert.match(name, /^[\w.~:[\]-]+$/)
        const answer = subdomainOf(name, ROOTS)
        const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
        assert.ok(authority === undefined || authority.toLowerCase() === name.toLowerCase(), 'two hosts')
        if (answer === 'unknown' || !URL.canParse(`http://${name}`)) return
        const hostname = new URL(`http://${name}`).hostname.replace(/\.$/, '')
        const { subdomain } = answer
        const possible = [...ROOTS, 'localhost'].map(root => (subdomain === '' ? root : `${subdomain}.${root}`))
        assert.ok(possible.includes(hostname), 'not the host of the URL')
        assert.ok(isOwnHost(name, [...ROOTS, 'localhost']))
      },
    )
  },
})
