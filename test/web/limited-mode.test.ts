import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { MODES, SERVICE } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'

const HTML = { accept: 'text/html' }
const FORM = { grant_type: 'client_credentials' }
const BODY = {
  error: 'uaa_unavailable',
  error_description: 'UAA intentionally in limited mode, operation not permitted. Please try later.',
}

for (const mode of MODES) {
  for (const base of ['http://localhost:8080', 'http://localhost:8080/uaa']) {
    const path = new URL(base).pathname.replace(/\/$/, '')

    describe(`Limited mode below ${base} in ${mode}`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'latchkey-limited-'))
      const statusFile = join(folder, 'limited')
      let server: TestServer
      before(async () => {
        server = await startServer({ mode, config: { base_url: base, uaa: { limitedFunctionality: { statusFile } } } })
      })
      beforeEach(() => {
        rmSync(statusFile, { force: true })
        server.clock.advance(5)
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
        rmSync(folder, { recursive: true })
      })
      const limit = (): void => {
        writeFileSync(statusFile, '')
        server.clock.advance(5)
      }

      it('is off without the status file', async () => {
        assert.equal((await server.send(`${path}/oauth/clients`, { method: 'POST', form: '' })).status, 401)
      })

      // Covers configuration file: uaa.limitedFunctionality.statusFile
      it('starts and ends within five seconds of a change of the status file', async () => {
        const status = async () => (await server.send(`${path}/oauth/clients`, { method: 'POST' })).status
        assert.equal(await status(), 401)
        writeFileSync(statusFile, '')
        server.clock.advance(4)
        assert.equal(await status(), 401)
        server.clock.advance(1)
        assert.equal(await status(), 503)
        rmSync(statusFile)
        server.clock.advance(4)
        assert.equal(await status(), 503)
        server.clock.advance(1)
        assert.equal(await status(), 401)
      })

      it('starts at once when the clock was set back', async () => {
        const status = async () => (await server.send(`${path}/oauth/clients`, { method: 'POST' })).status
        assert.equal(await status(), 401)
        writeFileSync(statusFile, '')
        server.clock.advance(-3600)
        assert.equal(await status(), 503)
        server.clock.advance(3600)
      })

      for (const [method, url] of [
        ['POST', '/oauth/clients'],
        ['PUT', '/oauth/clients/app'],
        ['DELETE', '/identity-zones/z1'],
        ['PATCH', '/nowhere'],
        ['POST', '/profile'],
        ['POST', '/loginx'],
        ['POST', '/oauth/token_keys'],
      ] as const) {
        // Covers every endpoint: rule: limited mode answers 503
        it(`refuses ${method} ${url} with JSON or a page`, async () => {
          limit()
          const program = await server.send(path + url, { method, headers: { accept: 'application/json' } })
          assert.equal(program.status, 503)
          assert.deepEqual(program.json(), BODY)
          assert.equal(program.headers['x-content-type-options'], 'nosniff')
          assert.ok(program.headers['retry-after'])
          const user = await server.send(path + url, { method, headers: HTML })
          assert.equal(user.status, 503)
        })
      }

      it('still signs users in and issues tokens', async () => {
        limit()
        const token = await server.send(`${path}/oauth/token`, { form: FORM, basic: SERVICE })
        assert.equal(token.status, 200)
        assert.equal((await server.send(`${path}/login`, { headers: HTML })).status, 200)
        assert.equal((await server.send(`${path}/healthz`)).status, 200)
        for (const same of ['/%6fauth/token', '/z/default/oauth/token']) {
          assert.equal((await server.send(path + same, { form: FORM, basic: SERVICE })).status, 200, same)
        }
        assert.equal((await server.send(`${path}/z/default/oauth/clients`, { form: FORM })).status, 503)
        const page = await server.send(`${path}/login.do`, { form: { username: 'a', password: 'b' }, headers: HTML })
        assert.equal(page.status, 302)
      })
    })
  }
}

describe('Whitelist of the limited mode', () => {
  // Covers configuration file: uaa.limitedFunctionality.whitelist.endpoints; uaa.limitedFunctionality.whitelist.methods
  it('replaces the default endpoints and methods', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-limited-'))
    writeFileSync(join(folder, 'limited'), '')
    const whitelist = { endpoints: ['/oauth/clients/**', '/introspect'], methods: ['head'] }
    const server = await startServer({
      config: { uaa: { limitedFunctionality: { statusFile: join(folder, 'limited'), whitelist } } },
    })
    try {
      const status = async (method: string, path: string) => (await server.send(path, { method })).status
      assert.equal(await status('POST', '/oauth/clients'), 401)
      assert.equal(await status('PUT', '/oauth/clients/app'), 401)
      assert.notEqual(await status('POST', '/introspect'), 503)
      assert.equal(await status('POST', '/introspect/more'), 503)
      assert.equal(await status('POST', '/oauth/token'), 503)
      assert.equal(await status('GET', '/login'), 503)
      assert.equal(await status('HEAD', '/login'), 200)
    } finally {
      await server.stop()
      rmSync(folder, { recursive: true })
    }
  })
})
