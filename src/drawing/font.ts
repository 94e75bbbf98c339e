/** Sizes of text in a drawing, in px: what it is laid out with and what it is shown with. */
export const FONT = { name: 13, detail: 11, label: 11, line: 15, nameLine: 18 } as const;
