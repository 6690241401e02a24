import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { withoutComments } from '../../src/web/assets.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const FOLDER = join(import.meta.dirname, '../../assets')
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

for (const base of ['http://localhost:8080', 'http://localhost:8080/uaa']) {
  const path = new URL(base).pathname.replace(/\/$/, '')

  describe(`Files below ${base}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ config: { base_url: base } })
    })
    after(() => server.stop())

    // Covers static files: /resources/**
    it('are served with their content type', async () => {
      for (const name of readdirSync(FOLDER).filter(each => extname(each) !== '')) {
        const answer = await server.send(`${path}/resources/${name}`)
        assert.equal(answer.status, 200, name)
        const text = readFileSync(join(FOLDER, name), 'utf8')
        assert.equal(answer.text, name.endsWith('.css') ? withoutComments(text) : text, name)
        if (name.endsWith('.css')) assert.doesNotMatch(answer.text, /\/\*|^\s/m)
        assert.equal(answer.headers['content-type'], TYPES[extname(name)], name)
        assert.equal(answer.headers['set-cookie'], undefined)
      }
    })

    it('are immutable only with their current version in the URL', async () => {
      const file = `${path}/resources/latchkey.css`
      const tag = String((await server.send(file)).headers['etag']).slice(1, -1)
      const cachingAt = async (url: string): Promise<unknown> => (await server.send(url)).headers['cache-control']
      assert.equal(await cachingAt(`${file}?v=${tag}`), 'public, max-age=31536000, immutable')
      for (const url of [file, `${file}?v=${'0'.repeat(16)}`]) assert.equal(await cachingAt(url), 'no-cache')
    })

    it('are linked from pages with a version', async () => {
      const { text } = await server.send(`${path}/login`)
      const links = [...text.matchAll(/(?:href|src)="([^"]*\/resources\/[^"]+)"/g)].map(match => match[1] ?? '')
      assert.deepEqual(
        links.map(link => link.replace(/^.*\/|\?.*$/g, '')),
        ['latchkey.css', 'latchkey.js', 'passkeys.js'],
      )
      const sources = [...text.matchAll(/<(?:img|script|link)\b[^>]* (?:href|src)="([^"]*)"/g)].map(
        match => match[1] ?? '',
      )
      assert.deepEqual(
        sources.filter(source => !source.startsWith('data:')),
        links,
      )
      for (const link of links) {
        assert.match(link, new RegExp(`^${path}/resources/[\\w.-]+\\?v=[\\w-]{16}$`))
        assert.equal((await server.send(link)).status, 200, link)
      }
    })

    it('return 304 if unchanged', async () => {
      const first = await server.send(`${path}/resources/latchkey.css`)
      const etag = String(first.headers['etag'])
      assert.match(etag, /^"[\w-]{16}"$/)
      const again = await server.send(`${path}/resources/latchkey.css`, { headers: { 'if-none-match': etag } })
      assert.equal(again.status, 304)
      assert.equal(again.text, '')
      // A proxy that compresses makes it a weak one (RFC 9110 §13.1.2 compares weakly).
      for (const condition of [`W/${etag}`, `"other", ${etag}`, '*']) {
        const headers = { 'if-none-match': condition }
        assert.equal((await server.send(`${path}/resources/latchkey.css`, { headers })).status, 304, condition)
      }
      assert.equal(
        (await server.send(`${path}/resources/latchkey.css`, { headers: { 'if-none-match': '"other"' } })).status,
        200,
      )
    })

    it('return 404 for unknown names and traversal', async () => {
      for (const name of [
        '',
        'nothing.css',
        '../package.json',
        '..%2fpackage.json',
        '%2e%2e/package.json',
        'latchkey.css/',
        '.',
      ]) {
        assert.equal((await server.send(`${path}/resources/${name}`)).status, 404, name)
      }
    })
  })
}
