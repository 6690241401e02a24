import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { epochSeconds } from '../../src/base/clock.ts'
import { APP, MODES, RESOURCE, tokensOf } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { bootstrap, passwordIn, pem, PORTER, signerKey, zone_config, zoneTokens } from '../support/zone-path.ts'

for (const mode of MODES) {
  for (const path of ['', '/uaa']) {
    const base = `http://id.example:8080${path}`
    const issuerEnd = mode === 'uaa' ? '/oauth/token' : ''

    describe(`Tokens of zones by path below ${base} in ${mode}`, () => {
      let server: TestServer
      before(async () => {
        server = await startServer({ mode, config: { base_url: base, bootstrap, zone_config } })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      const { token, signIn } = zoneTokens(() => server, path)
      /** By host: the Host header of the zone. */
      const byHost = (zone: string) => ({ host: zone === 'default' ? 'id.example:8080' : `${zone}.id.example:8080` })

      const isActive = async (url: string, value: string, to: object = {}): Promise<unknown> =>
        (await server.send(`${path}${url}/introspect`, { ...to, form: { token: value }, basic: RESOURCE })).json()[
          'active'
        ]

      for (const zone of ['x', 'default']) {
        for (const format of ['jwt', 'opaque']) {
          // Covers zone by path: rule: tokens are good at either address of the zone, and in no other
          it(`of ${zone} (${format}) are valid at both addresses of the zone, and in no other zone`, async () => {
            const form = { token_format: format, scope: 'openid' }
            const byPath = await signIn(`/z/${zone}`, passwordIn(zone), form)
            const hosted = tokensOf(
              await server.send(`${path}/oauth/token`, {
                ...byHost(zone),
                form: { grant_type: 'password', username: 'marissa', password: passwordIn(zone), ...form },
                basic: APP,
              }),
            )
            const hostBase = zone === 'x' ? base.replace('://', '://x.') : base
            assert.equal(decodeJwt(byPath.id_token).iss, `${base}/z/${zone}${issuerEnd}`)
            assert.equal(decodeJwt(hosted.id_token).iss, `${hostBase}${issuerEnd}`)
            for (const { access_token: value } of [byPath, hosted]) {
              assert.equal(await isActive(`/z/${zone}`, value), true)
              assert.equal(await isActive('', value, byHost(zone)), true)
              const user = await server.send(`${path}/z/${zone}/userinfo`, { bearer: value })
              assert.equal(user.json()['user_name'], 'marissa', user.text)
              for (const other of ['x', 'y', 'default'].filter(each => each !== zone)) {
                assert.equal(await isActive(`/z/${other}`, value), false)
                assert.equal(await isActive('', value, byHost(other)), false)
                const refused = await server.send(`${path}/z/${other}/userinfo`, { bearer: value })
                assert.equal(refused.status, 401)
              }
            }
          })
        }
      }

      it('are verifiable with keys and issuer of the path', async () => {
        const { access_token: value } = await signIn('/z/x', 'koala-x')
        const keys = (await server.send(`${path}/z/x/token_keys`)).json<JSONWebKeySet & Record<string, unknown>>()
        const { payload } = await jwtVerify(value, createLocalJWKSet(keys), {
          issuer: `${base}/z/x${issuerEnd}`,
          currentDate: server.clock.now(),
        })
        assert.equal(payload['zid'], 'x')
      })

      it('can be refreshed at either address, and contain its issuer', async () => {
        const form = async (value: Promise<{ refresh_token: string }>) => ({
          grant_type: 'refresh_token',
          refresh_token: (await value).refresh_token,
        })
        const moved = tokensOf(
          await server.send(`${path}/oauth/token`, {
            ...byHost('x'),
            form: await form(signIn('/z/x', 'koala-x')),
            basic: APP,
          }),
        )
        assert.equal(decodeJwt(moved.access_token).iss, base.replace('://', '://x.') + issuerEnd)
        const back = tokensOf(await token('/z/x', await form(Promise.resolve(moved))))
        assert.equal(decodeJwt(back.access_token).iss, `${base}/z/x${issuerEnd}`)
        const refused = await token('/z/y', await form(Promise.resolve(back)))
        assert.deepEqual(
          [refused.status, refused.json()['error']],
          [mode === 'uaa' ? 401 : 400, mode === 'uaa' ? 'invalid_token' : 'invalid_grant'],
        )
      })

      it('contain the configured issuer of the zone at any address', async () => {
        const { access_token: value } = await signIn('/z/named', 'koala-named')
        assert.equal(decodeJwt(value).iss, `https://issuer.example${issuerEnd}`)
        assert.equal(await isActive('', value, byHost('named')), true)
        const signedAs = (iss: string): Promise<string> =>
          new SignJWT({ ...decodeJwt(value), iss })
            .setProtectedHeader({ ...decodeProtectedHeader(value), alg: 'RS256' })
            .sign(createPrivateKey(pem))
        const again = await signedAs(`https://issuer.example${issuerEnd}`)
        assert.equal(await isActive('/z/named', again), true)
        const forged = await signedAs(`${base}/z/named${issuerEnd}`)
        assert.equal(await isActive('/z/named', forged), false)
      })

      it('of a zone with subdomain default are not valid in the default zone', async () => {
        const hosted = await server.send(`${path}/oauth/token`, {
          host: 'default.id.example:8080',
          form: { grant_type: 'password', username: 'marissa', password: 'koala-called-default' },
          basic: APP,
        })
        const { access_token: value } = tokensOf(hosted)
        assert.equal(await isActive('', value, { host: 'default.id.example:8080' }), true)
        assert.equal(await isActive('/z/default', value), false)
        assert.equal(await isActive('', value), false)
        const { access_token: own } = await signIn('/z/default', 'koala')
        assert.equal(await isActive('', own, { host: 'default.id.example:8080' }), false)
      })

      it('are accepted by jwt-bearer at either address, and in no other zone', async () => {
        const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
        const { access_token: assertion } = await signIn('/z/x', 'koala-x', {}, PORTER)
        const form = { grant_type, assertion }
        tokensOf(await token('/z/x', form, PORTER))
        tokensOf(await server.send(`${path}/oauth/token`, { ...byHost('x'), form, basic: PORTER }))
        for (const other of ['/z/y', '/z/default', '']) {
          assert.notEqual((await token(other, form, PORTER)).status, 200)
        }
      })

      it('are issued for a client assertion with the audience of either address, not of another zone', async () => {
        let id = 0
        const send = async (to: string, aud: string, host?: string) => {
          const now = epochSeconds(server.clock.now())
          const client_assertion = await new SignJWT({
            iss: 'signer',
            sub: 'signer',
            aud,
            jti: `${++id} ${path}`,
            exp: now + 60,
            iat: now,
          })
            .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
            .sign(signerKey)
          return server.send(`${path}${to}/oauth/token`, {
            form: {
              grant_type: 'client_credentials',
              client_assertion,
              client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            },
            ...(host !== undefined && { host }),
          })
        }
        const hostBase = base.replace('://', '://x.')
        for (const aud of [`${base}/z/x/oauth/token`, `${hostBase}/oauth/token`, `${base}/z/x${issuerEnd}`]) {
          tokensOf(await send('/z/x', aud))
          tokensOf(await send('', aud, 'x.id.example'))
          for (const other of ['/z/y', '/z/default', '']) {
            const refused = await send(other, aud)
            assert.deepEqual([refused.status, refused.json()['error']], [401, 'invalid_client'], `${other} ${aud}`)
          }
        }
        tokensOf(await send('', `${base}/z/default/oauth/token`))
        assert.equal((await send('/z/x', `${base}/oauth/token`)).status, 401)
      })
    })
  }
}
