import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { addSeconds } from '../../src/base/clock.ts'
import { authorize, signedIn } from '../support/authorize.ts'
import { changeClient, exchange, insertCode, isAlive, passwordTokens, tokensOf, userNamed } from '../support/oauth.ts'
import { METADATA, register, registered } from '../support/registration.ts'
import { hiddenFields } from '../support/forms.ts'
import type { TestAnswer } from '../support/server.ts'
import { linkTo, NEW_PASSWORD, submitted } from '../support/self-service.ts'
import type { Attack } from './attack.ts'
import { trying } from './registration.ts'

const API = 'https://payments.example/'

/** Attacks by self-registered clients at interfaces that are restricted to other clients. */
export const selfRegisteredClientAttacks: readonly Attack[] = [
  {
    attack: 'uses an invalid request as an open redirect to its own page',
    outcome: 'sign-in is required first, except for prompt=none',
    attempt: () =>
      trying(async server => {
        const { client_id } = registered(await register(server))
        const wrong = { client_id, redirect_uri: 'https://new.example/cb', response_type: 'code', max_age: 'soon' }
        for (const request of [wrong, { ...wrong, request: 'no.such.object' }]) {
          const browser = server.browser()
          assert.equal((await authorize(browser, request)).location().pathname, '/login')
          const back = (await browser.signIn('marissa', 'koala')).location()
          assert.equal(back.pathname, '/oauth/authorize')
          const answer = await browser.send(back.pathname + back.search)
          if (answer.status === 302) assert.match(answer.location().href, /^https:\/\/new\.example\/cb\?error=invalid_/)
          else assert.equal(answer.status, 400, answer.text) // as uaa tells most of it
        }
        const silent = await authorize(server.browser(), { ...wrong, max_age: '1', prompt: 'none' })
        assert.equal(silent.location().host, 'new.example')
      }),
  },
  {
    attack: 'requests an API only after approval: with the code, a refresh token or another request',
    outcome: 'invalid_target with code and refresh token; a request with an API always requires approval',
    attempt: () =>
      trying(
        async server => {
          const metadata = {
            ...METADATA,
            token_endpoint_auth_method: 'client_secret_post',
            grant_types: ['authorization_code', 'refresh_token'],
          }
          const { client_id: clientId, client_secret: secret } = registered(await register(server, metadata))
          const redirectUri = 'https://new.example/cb'
          const asked = { client_id: clientId, redirect_uri: redirectUri, response_type: 'code', scope: 'openid' }
          const browser = await signedIn(server)
          const approve = ({ text }: TestAnswer): Promise<TestAnswer> => {
            const form = { ...hiddenFields(text), user_oauth_approval: 'true', 'scope.0': 'scope.openid' }
            return browser.send('/oauth/authorize', { form })
          }
          const approved = await approve(await authorize(browser, asked))
          const send = (form: Readonly<Record<string, string>>) =>
            server.token({ ...form, client_id: clientId, client_secret: secret })
          const code = (): Promise<string> => insertCode(server, { clientId, redirectUri, scopes: ['openid'] })
          const redeem = { grant_type: 'authorization_code', redirect_uri: redirectUri }
          assert.equal(approved.location().host, 'new.example')
          const late = await send({ ...redeem, code: await code(), resource: API })
          assert.deepEqual([late.status, late.json()['error']], [400, 'invalid_target'])
          const { refresh_token: refreshToken } = tokensOf(await send({ ...redeem, code: await code() }))
          const wider = await send({ grant_type: 'refresh_token', refresh_token: refreshToken, resource: API })
          assert.deepEqual([wider.status, wider.json()['error']], [400, 'invalid_target'])
          assert.equal((await authorize(browser, asked)).status, 302)
          const question = await authorize(browser, { ...asked, resource: API })
          assert.equal(question.status, 200)
          assert.ok(question.text.includes(API))
          const answer = await approve(question)
          const granted = await send({
            ...redeem,
            code: answer.location().searchParams.get('code') ?? '',
            resource: API,
          })
          assert.deepEqual([decodeJwt(tokensOf(granted).access_token).aud].flat(), [API])
        },
        { mode: 'open', resources: [API] },
        { config: { zone_config: { protocols: { resourceIndicators: true } } } },
      ),
  },
  {
    attack: 'reads the email address of a user who approved only openid from its access token',
    outcome: 'it is included only as in the ID token and userinfo: in standard with the scope email',
    attempt: () =>
      trying(async server => {
        const { client_id: clientId, client_secret: secret } = registered(await register(server))
        const redirectUri = 'https://new.example/cb'
        const { id: userId, email } = await userNamed(server, 'marissa')
        const now = server.clock.now()
        const approval = { zoneId: 'svc', userId, clientId, status: 'APPROVED' } as const
        const times = { updatedAt: now, expiresAt: addSeconds(now, 600) }
        const seenWith = async (scopes: readonly string[]): Promise<readonly unknown[]> => {
          await server.store.approvals.save(
            'svc',
            scopes.map(scope => ({ ...approval, ...times, scope })),
          )
          const code = await insertCode(server, { clientId, redirectUri, scopes })
          const issued = await exchange(server, code, { redirect_uri: redirectUri }, [clientId, secret])
          const { access_token: bearer, id_token: idToken } = tokensOf(issued)
          const userinfo = await server.send('/userinfo', { bearer })
          assert.equal(userinfo.status, 200)
          return [decodeJwt(bearer), decodeJwt(idToken), userinfo.json()].map(claims => claims['email'])
        }
        const [seen, ...others] = await seenWith(['openid'])
        assert.deepEqual(others, [seen, seen])
        assert.deepEqual(await seenWith(['openid', 'email']), [email, email, email])
      }),
  },
  {
    attack: 'uses the token of a user who approved openid to change the account and revoke other applications',
    outcome: 'refused',
    attempt: () =>
      trying(async server => {
        const { client_id: clientId, client_secret: secret } = registered(await register(server))
        const redirectUri = 'https://new.example/cb'
        const code = await insertCode(server, { clientId, redirectUri, scopes: ['openid'] })
        const issued = await exchange(server, code, { redirect_uri: redirectUri }, [clientId, secret])
        const bearer = tokensOf(issued).access_token
        const { id, givenName } = await userNamed(server, 'marissa')
        const now = server.clock.now()
        const approval = { zoneId: 'svc', userId: id, clientId, scope: 'openid', status: 'APPROVED' } as const
        await server.store.approvals.save('svc', [{ ...approval, updatedAt: now, expiresAt: addSeconds(now, 600) }])
        const another = (await passwordTokens(server, { token_format: 'opaque' })).access_token
        const name = JSON.stringify({ name: { givenName: 'Mallory', familyName: 'X' } })
        const json = { headers: { 'content-type': 'application/json', 'if-match': '*' }, body: name }
        for (const path of ['/scim/v2/Me', `/Users/${id}`]) {
          for (const request of [{ method: 'GET' }, { method: 'PATCH', ...json }, { method: 'PUT', ...json }]) {
            const answer = await server.send(path, { ...request, bearer })
            assert.equal(answer.status, 403, `${request.method} ${path}: ${answer.text}`)
            assert.ok(!answer.text.includes('marissa@example.org'))
          }
        }
        assert.equal((await userNamed(server, 'marissa')).givenName, givenName)
        for (const path of [`user/${id}`, another]) {
          assert.equal((await server.send(`/oauth/token/revoke/${path}`, { method: 'DELETE', bearer })).status, 403)
        }
        assert.equal(await isAlive(server, another), true)
        assert.equal((await server.send('/userinfo', { bearer })).status, 200)
      }),
  },
  {
    attack: 'gets a user token for itself from another client by the user_token grant',
    outcome: 'refused, like a FAPI client',
    attempt: () =>
      trying(async server => {
        const portal = ['portal', 'portal-secret'] as const
        const portalGrants = ['password', 'user_token', 'refresh_token'] as const
        await changeClient(server, 'portal', { authorizedGrantTypes: portalGrants })
        const bearer = (await passwordTokens(server, {}, portal)).access_token
        const hand = (id: string) => server.token({ grant_type: 'user_token', client_id: id }, { bearer })
        assert.equal((await hand('app')).status, 200)
        const grants = { grant_types: ['authorization_code', 'refresh_token'] }
        const { client_id: selfRegistered } = registered(await register(server, { ...METADATA, ...grants }))
        await changeClient(server, 'app', { profile: 'fapi2-security' })
        for (const id of [selfRegistered, 'app']) assert.match((await hand(id)).text, /Unauthorized grant type/)
      }),
  },
  {
    attack: 'checks passwords that it collected, and creates sign-in links with them',
    outcome: 'refused before the password is checked, like a FAPI client',
    attempt: () =>
      trying(async server => {
        const { client_id: id, client_secret: secret } = registered(await register(server))
        const enter = (client: string, word: string, password: string) =>
          server.send('/autologin', { form: { username: 'marissa', password }, basic: [client, word] })
        assert.equal((await enter('app', 'app-secret', 'koala')).status, 200)
        await changeClient(server, 'app', { profile: 'fapi2-security' })
        const events = server.events.length
        for (const password of ['koala', 'wrong']) {
          const answer = await enter(id, secret, password)
          assert.equal(answer.json()['error_description'], 'This client may not send passwords')
          assert.equal((await enter('app', 'app-secret', password)).json()['code'], undefined)
        }
        const reported = server.events.slice(events).map(({ type }) => type)
        assert.ok(
          reported.every(type => type.startsWith('ClientAuthentication')),
          reported.join(' '),
        )
      }),
  },
  {
    attack: 'redirects users to its own page by /continue or by a password reset mail',
    outcome: 'users are not redirected',
    attempt: () =>
      trying(async server => {
        const { client_id } = registered(await register(server))
        const errand = { client_id, redirect_uri: 'https://new.example/cb' }
        assert.equal((await server.send('/continue', { query: errand })).location().pathname, '/home')
        const asked = { action: '/forgot_password.do', username: 'marissa', ...errand }
        assert.equal((await submitted(server.browser(), '/forgot_password', asked)).status, 302)
        const link = await linkTo(server, 'marissa@example.org')
        const password = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD }
        const changed = await submitted(server.browser(), link, { action: '/reset_password.do', ...password })
        assert.equal(changed.location().searchParams.get('success'), 'password_reset')
        assert.ok(!changed.location().href.includes('new.example'))
      }),
  },
]
