import assert from 'node:assert/strict'
import { OutboundBusy } from '../../src/base/outbound/error.ts'
import { describe, it } from 'node:test'
import fastify from 'fastify'
import { TooManyHashes } from '../../src/base/passwords.ts'
import { behaviourOf } from '../../src/model/compatibility.ts'
import { OAuthError, withBody } from '../../src/model/oauth-error.ts'
import type { RefusalBody } from '../../src/model/oauth-error.ts'
import { serviceNamed } from '../../src/model/service.ts'
import { StoreBusy, StoreUnavailable } from '../../src/store/store.ts'
import { Overloaded } from '../../src/web/limits/overload.ts'
import {
  PageError,
  answerFor,
  createErrorHandler,
  plainDescription,
  acceptsPage,
  wantsJson,
} from '../../src/web/answers.ts'
import { MalformedInput } from '../../src/web/requests/form.ts'
import { TooManyRequests } from '../../src/web/limits/too-many-requests.ts'

describe('`answerFor`', () => {
  const framework = (code: string): Error => Object.assign(new Error('from the framework'), { code })
  const cases: readonly {
    name: string
    thrown: unknown
    status: number
    error: string | undefined
    fault?: boolean
    description?: string
  }[] = [
    {
      name: 'an OAuthError',
      thrown: new OAuthError('invalid_scope', 'No'),
      status: 400,
      error: 'invalid_scope',
      description: 'No',
    },
    {
      name: 'an OAuthError with its own status',
      thrown: new OAuthError({ error: 'unauthorized', status: 403 }, 'No'),
      status: 403,
      error: 'unauthorized',
    },
    {
      name: 'an OAuthError with server_error',
      thrown: new OAuthError('server_error', 'Internal Server Error'),
      status: 500,
      error: 'server_error',
      fault: true,
    },
    {
      name: 'a PageError',
      thrown: new PageError(404, 'Nothing'),
      status: 404,
      error: undefined,
      description: 'Nothing',
    },
    {
      name: 'a PageError with a code',
      thrown: new PageError(400, 'No', { code: 'invalid_request' }),
      status: 400,
      error: 'invalid_request',
    },
    {
      name: 'an invalid content type',
      thrown: framework('FST_ERR_CTP_INVALID_MEDIA_TYPE'),
      status: 400,
      error: 'invalid_request',
      description: 'The content type is not valid',
    },
    {
      name: 'a malformed form',
      thrown: new MalformedInput('Too many parameters'),
      status: 400,
      error: 'invalid_request',
      description: 'Too many parameters',
    },
    {
      name: 'too many attempts',
      thrown: new TooManyRequests(7),
      status: 429,
      error: 'too_many_requests',
      description: 'Too many attempts. Try again in 7 seconds.',
    },
    { name: 'too many password hashes', thrown: new TooManyHashes(), status: 503, error: 'temporarily_unavailable' },
    {
      name: 'a busy database',
      thrown: new StoreBusy('too many'),
      status: 503,
      error: 'temporarily_unavailable',
      description: 'Too many requests at the moment. Try again in a few seconds.',
    },
    {
      name: 'too many requests to other servers',
      thrown: new OutboundBusy('https://keys.internal'),
      status: 503,
      error: 'temporarily_unavailable',
      description: 'Too many requests at the moment. Try again in a few seconds.',
    },
    { name: 'too many requests', thrown: new Overloaded(), status: 503, error: 'temporarily_unavailable' },
    {
      name: 'an unavailable database',
      thrown: new StoreUnavailable('host db.internal'),
      status: 503,
      error: 'temporarily_unavailable',
      fault: true,
      description: 'Database unavailable. Retry later.',
    },
    {
      name: 'a body that is too large',
      thrown: framework('FST_ERR_CTP_BODY_TOO_LARGE'),
      status: 413,
      error: 'invalid_request',
    },
    {
      name: 'a body that is shorter than announced',
      thrown: framework('FST_ERR_CTP_INVALID_CONTENT_LENGTH'),
      status: 400,
      error: 'invalid_request',
    },
    { name: 'a malformed path', thrown: framework('FST_ERR_BAD_URL'), status: 400, error: 'invalid_request' },
    {
      name: 'an unknown code',
      thrown: framework('E_MAGIC'),
      status: 500,
      error: 'server_error',
      fault: true,
      description: 'Internal Server Error',
    },
    {
      name: 'a code named like an inherited property',
      thrown: framework('toString'),
      status: 500,
      error: 'server_error',
      fault: true,
    },
    {
      name: 'an unexpected error',
      thrown: new TypeError('secret of the inside'),
      status: 500,
      error: 'server_error',
      fault: true,
      description: 'Internal Server Error',
    },
    {
      name: 'a string',
      thrown: 'secret of the inside',
      status: 500,
      error: 'server_error',
      fault: true,
      description: 'Internal Server Error',
    },
    { name: 'undefined', thrown: undefined, status: 500, error: 'server_error', fault: true },
  ]
  for (const { name, thrown, status, error, fault = false, description } of cases) {
    it(`answers ${name}`, () => {
      const answer = answerFor(thrown)
      assert.equal(answer.status, status)
      assert.equal(answer.error, error)
      assert.equal(answer.fault, fault)
      if (description !== undefined) assert.equal(answer.description, description)
      assert.doesNotMatch(answer.description, /secret|db\.internal/)
    })
  }
})

describe('`withBody`', () => {
  const bodies: readonly { body: RefusalBody; payload: string; type: string | undefined }[] = [
    { body: { kind: 'none' }, payload: '', type: undefined },
    { body: { kind: 'sent' }, payload: '', type: undefined }, // the route has sent it
    { body: { kind: 'text' }, payload: 'No "such" thing', type: 'text/plain; charset=utf-8' },
    { body: { kind: 'json', value: { a: 1 } }, payload: '{"a":1}', type: 'application/json; charset=utf-8' },
  ]
  for (const { body, payload, type } of bodies) {
    it(`sends a body of kind ${body.kind}`, async () => {
      const app = fastify()
      const deny = (): never => {
        throw new Error('no page and no fault is expected')
      }
      app.setErrorHandler(
        createErrorHandler({
          pages: { chrome: deny, brandingOf: deny, texts: deny, mailFrame: deny, send: deny, error: deny },
          service: serviceNamed('svc'),
          behaviour: behaviourOf('standard'),
          log: { fault: deny, refusal: () => {} },
        }),
      )
      app.get('/', () => {
        throw withBody(new OAuthError({ error: 'invalid_request', status: 422 }, 'No "such" thing'), body)
      })
      const response = await app.inject('/')
      assert.deepEqual([response.statusCode, response.payload], [422, payload])
      assert.equal(response.headers['content-type']?.toString().toLowerCase(), type)
      await app.close()
    })
  }
})

describe('`createErrorHandler`', () => {
  it('answers 500 and logs the cause if it fails itself', async () => {
    const app = fastify()
    const deny = (): never => {
      throw new Error('no page is expected')
    }
    const faults: unknown[] = []
    app.decorateRequest('resourceMetadata', {
      getter(): string {
        throw new Error('secret of the inside')
      },
    })
    app.setErrorHandler(
      createErrorHandler({
        pages: { chrome: deny, brandingOf: deny, texts: deny, mailFrame: deny, send: deny, error: deny },
        service: serviceNamed('svc'),
        behaviour: behaviourOf('standard'),
        log: { fault: (_, cause) => faults.push(cause), refusal: deny },
      }),
    )
    app.get('/', () => {
      throw new OAuthError('invalid_token', 'No')
    })
    const response = await app.inject('/')
    assert.deepEqual([response.statusCode, response.payload], [500, 'Internal Server Error'])
    assert.match(String(faults[0]), /secret of the inside/)
    await app.close()
  })
})

describe('`plainDescription`', () => {
  it('replaces characters outside RFC 6749 in standard only', () => {
    const text = 'a "b" \\ ü\n~'
    assert.equal(plainDescription(text, behaviourOf('standard')), 'a ?b? ? ??~')
    assert.equal(plainDescription(text, behaviourOf('uaa')), text)
  })
})

describe('`wantsJson`', () => {
  const cases: readonly (readonly [accept: string | undefined, want: boolean])[] = [
    ['application/json', true],
    ['text/html, application/json;q=0.9', true],
    ['application/json; charset=utf-8', true],
    ['Application/JSON', true],
    ['application/json;q=0', false],
    ['application/json; q=0.000, text/html', false],
    ['application/json;q=0.001', true],
    ['text/html', false],
    ['*/*', false],
    ['application/*', false],
    ['application/json5', false],
    ['application/x-www-form-urlencoded', false],
    ['', false],
    [undefined, false],
  ]
  for (const [accept, want] of cases) {
    it(`returns ${want} for ${accept ?? 'no Accept header'}`, () => {
      assert.equal(wantsJson({ headers: { accept } } as Parameters<typeof wantsJson>[0]), want) // no other property is read
    })
  }
})

describe('`acceptsPage`', () => {
  const cases: readonly (readonly [accept: string | undefined, want: boolean])[] = [
    ['text/html', true],
    ['TEXT/HTML;q=0.1', true],
    ['text/*', true],
    ['*/*', true],
    ['image/avif, image/webp, */*;q=0.8', true],
    ['', true],
    [' ', true],
    [undefined, true],
    ['image/png', false],
    ['text/plain, application/xml', false],
    ['text/html;q=0', false],
    ['text/html;level=1;q=0.0, image/png', false],
    ['text', false],
    [',', false],
  ]
  for (const [accept, want] of cases) {
    it(`returns ${want} for ${accept ?? 'no Accept header'}`, () => {
      assert.equal(acceptsPage({ headers: { accept } } as Parameters<typeof acceptsPage>[0]), want) // no other property is read
    })
  }
})
