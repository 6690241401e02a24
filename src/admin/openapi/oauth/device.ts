// Sign-in for devices without a browser (RFC 8628).
import { DEVICE_CODE_SECONDS, POLL_SECONDS } from '../../../model/tokens/device-code.ts'
import type { Area, Facts } from '../description.ts'
import {
  closed,
  json,
  may,
  must,
  oneOf,
  page,
  redirect,
  ref,
  text,
  whole,
  repeatable,
  repeatedIn,
} from '../description.ts'
import { ASSERTION_FIELDS, CLIENT_FIELDS } from './oauth.ts'

const OFF = 'The zone does not support the protocol (`protocols.deviceGrant`).'

/** The endpoint for devices, and the page for users. */
export function deviceArea({ service, behaviour }: Facts): Area {
  const csrf = { [service.csrfName]: must('The anti-forgery value.') }
  const answers = {
    200: page('The decision, its outcome, or the page again.'),
    302: redirect('To the sign-in page.'),
    403: 'The form was refused.',
    404: OFF,
    422: page('The page again: the code is not valid, or not for this user.'),
    429: 'Too many wrong codes.',
  }
  return {
    name: 'Devices',
    about: 'A device shows a code, the user enters it in a browser, and the device gets tokens (RFC 8628).',
    operations: {
      'POST /oauth/device_authorization': {
        summary: 'Get codes for a device',
        refusesRepeated: repeatedIn(behaviour),
        about: 'RFC 8628 §3.1. With `device_code` the device asks `/oauth/token` every `interval` seconds.',
        credentials: ['form', 'none'],
        form: {
          ...CLIENT_FIELDS,
          ...ASSERTION_FIELDS,
          scope: may('Space-separated scopes. Absent: all that the client may have.'),
          resource: may('The URI of the API that the tokens are for (RFC 8707).', repeatable),
        },
        answers: {
          200: json('The codes.', ref('DeviceCodes')),
          400: 'The request was refused: `invalid_request`, `invalid_scope`, `invalid_target` or `unauthorized_client`.',
          404: OFF,
          429: 'Too many codes for this address.',
        },
      },
      'GET /device': {
        summary: 'Show the page for codes of devices',
        query: { user_code: may('Pre-fills the code.') },
        answers: { 200: page('The page.'), 302: redirect('To the sign-in page.'), 404: OFF },
      },
      'POST /device': { summary: 'Enter a code', form: { user_code: must('The code.'), ...csrf }, answers },
      'POST /device/decision': {
        summary: 'Allow or deny a device',
        form: {
          user_code: must('The code.'),
          user_oauth_approval: must('The decision of the user.', oneOf(['true', 'false'])),
          ...csrf,
        },
        answers,
      },
    },
    schemas: {
      DeviceCodes: closed({
        device_code: text,
        user_code: text,
        verification_uri: text,
        verification_uri_complete: text,
        expires_in: { ...whole, const: DEVICE_CODE_SECONDS },
        interval: { ...whole, const: POLL_SECONDS },
      }),
    },
  }
}
