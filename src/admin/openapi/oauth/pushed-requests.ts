// Pushed authorization requests (RFC 9126).
import type { Fields, Operation, Repeated } from '../description.ts'
import { closed, json, may, text, whole } from '../description.ts'

/** `/oauth/par`, with the fields of an authorization request and of client authentication. */
export function pushedRequestOperations({
  request,
  credentials,
  refusesRepeated,
}: {
  readonly request: Fields
  readonly credentials: Fields
  readonly refusesRepeated: Repeated | undefined
}): Readonly<Record<string, Operation>> {
  const fields = Object.entries(request).map(([name, field]) => [name, { ...field, required: false }] as const)
  return {
    'POST /oauth/par': {
      summary: 'Push an authorization request',
      refusesRepeated,
      about:
        'RFC 9126. The response has the `request_uri` for `/oauth/authorize`, which then reads only `client_id` and `request_uri`. With `request` all parameters are in the signed object.',
      credentials: ['form', 'none'],
      form: {
        ...Object.fromEntries(fields),
        ...credentials,
        request: may('A request object (RFC 9101), signed with a key of the client.'),
      },
      answers: {
        201: json('Stored.', closed({ request_uri: text, expires_in: whole })),
        400: 'The request was refused, as `/oauth/authorize` would refuse it.',
        404: 'Pushed requests are turned off (`protocols.pushedRequests`).',
        406: 'Parameters in the query are not allowed.',
        413: 'The request is too long.',
        429: 'Too many requests of the client are pending.',
      },
    },
  }
}
