/** JSON Schema of an object that has these keys and no others. */
export const section = <P extends Record<string, unknown>>(description: string, properties: P) =>
  ({ type: 'object', additionalProperties: false, description, properties }) as const
