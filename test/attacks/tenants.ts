import assert from 'node:assert/strict'
import { TO_Z1, startClientServer } from '../support/clients.ts'
import { MODES } from '../support/oauth.ts'
import type { Attack } from './attack.ts'

/** An administrator of one zone, or with partial rights, must not reach beyond them. */
export const tenantAttacks: readonly Attack[] = [
  ...MODES.map(
    (mode): Attack => ({
      attack: `changes, describes or deletes the client of an administrator with clients.write alone (${mode})`,
      outcome: 'is refused, in the own zone and in another one, and the client stays as it is',
      async attempt() {
        const api = await startClientServer(mode)
        const grants = { authorized_grant_types: ['authorization_code'], redirect_uri: ['https://evil.example/'] }
        for (const [target, by, headers] of [
          ['root', 'writer', {}],
          ['native', 'z1-writer', TO_Z1],
        ] as const) {
          const before = await api.read(target, { headers })
          const harmless = { client_id: target, scope: ['svc.none'], authorities: ['svc.none'], client_secret: 'taken' }
          const path = `/oauth/clients/${target}`
          for (const [method, place, body] of [
            ['PUT', path, harmless],
            ['PUT', path, { ...harmless, ...grants }],
            ['PUT', `/oauth/clients/restricted/${target}`, harmless],
            ['PUT', `${path}/meta`, { appLaunchUrl: 'https://evil.example/', showOnHomePage: true }],
            ['PUT', `${path}/secret`, { secret: 'taken' }],
            ['PUT', `${path}/clientjwt`, { jwks_uri: 'https://evil.example/keys' }],
            ['PUT', '/oauth/clients/tx', [harmless]],
            ['POST', '/oauth/clients/tx/secret', [{ clientId: target, secret: 'taken' }]],
            ['POST', '/oauth/clients/tx/modify', [{ ...harmless, action: 'update,secret' }]],
            ['POST', '/oauth/clients/tx/delete', [{ client_id: target }]],
            ['DELETE', path, undefined],
          ] as const) {
            const answer = await api.send(method, place, body, { by, headers })
            assert.equal(answer.status, 403, `${method} ${place}: ${answer.text}`)
            assert.equal(answer.json()['error'], 'insufficient_scope')
          }
          assert.deepEqual(await api.read(target, { headers }), before)
          const { appLaunchUrl } =
            (await api.server.store.clients.findMetadata(by === 'writer' ? 'svc' : 'z1', target)) ?? {}
          assert.equal(appLaunchUrl, undefined)
        }
        await api.stop()
      },
    }),
  ),
]
