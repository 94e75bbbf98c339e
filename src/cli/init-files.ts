/** What the README of a new project tells its reader to ask. */
export const starterPrompt = 'What is this project?';

const team = `# Two agents gather at once, a third writes. Draw it: troupe graph team.yaml
name: report
description: Looks at a project from two sides and writes a short report.
pattern: sequential
script: ./demo.script.yaml
children:
  - pattern: parallel
    name: gather
    children:
      - ./agents/researcher.agent.md
      - ./agents/skeptic.agent.md
  - ./agents/writer.agent.md
`;

const researcher = `---
name: researcher
description: Finds out what is there.
model: scripted
tools: [list_directory, read_file, search_text]
max_turns: 8
---
Answer from the files of this folder only, and name the files that you used.
`;

const skeptic = `---
name: skeptic
description: Says what is missing or doubtful.
model: scripted
tools: [list_directory]
max_turns: 8
---
Look for what nobody mentions. Be brief, and say how sure you are.
`;

const writer = `---
name: writer
description: Writes the report.
model: scripted
max_turns: 4
---
You are given what the researcher found and what the skeptic doubts. Write one short report, facts first.
`;

const script = `# What the scripted model says, one entry per call of each agent. It calls the real tools.
byAgent:
  researcher:
    - text: I will look at the folder first.
      toolCalls:
        - { name: list_directory, args: { path: . } }
    - toolCalls:
        - { name: read_file, args: { path: README.md } }
    - text: ["The folder holds a team of three agents ", "and a script that plays their model (README.md)."]
      usage: { inputTokens: 420, outputTokens: 24 }
  skeptic:
    - toolCalls:
        - { name: list_directory, args: { path: agents } }
    - text: Nobody says which real model the agents should use.
      usage: { inputTokens: 180, outputTokens: 11 }
  writer:
    - text:
        - "This project is a team of agents: two look at it at once, one writes.\\n"
        - "It runs offline, on a script. "
        - "Open question: which model should it use next?"
      usage: { inputTokens: 260, outputTokens: 38 }
`;

const readme = `# A team of agents

Run it, offline:

    npx troupe run team.yaml "${starterPrompt}"

- \`team.yaml\` says who works with whom: a researcher and a skeptic at once, then a writer.
- \`agents/\` holds one file per agent: front matter and an instruction.
- \`demo.script.yaml\` plays the model, so that no key is needed.

With a real model: replace \`model: scripted\` in the agents' files, as by \`gemini/gemini-flash-latest\`, and set its
key, or choose one for a single run: \`npx troupe run team.yaml --model gemini/gemini-flash-latest "..."\`.
\`troupe doctor\` says what is missing, \`troupe check team.yaml\` what would go wrong and how many model calls a run can
make, \`troupe graph team.yaml\` draws the team.
`;

/** The files of a new project by their path in it. */
export const starterFiles: Readonly<Record<string, string>> = {
  'README.md': readme,
  'team.yaml': team,
  'agents/researcher.agent.md': researcher,
  'agents/skeptic.agent.md': skeptic,
  'agents/writer.agent.md': writer,
  'demo.script.yaml': script,
};
